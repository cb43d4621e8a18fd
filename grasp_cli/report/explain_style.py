"""The look of the explanation page, and its legend with the switches; colours of all pages."""

from __future__ import annotations

PALETTE = """
:root { --page: #fbfbf9; --card: #fff; --ink: #16181c; --dim: #535a64;
  --line: #d9dbd6; --edge: #a9ada6; --shade: #f2b632; --kept: #16703c; --gold: #7a3fb0;
  --tip: #16181c; --on-tip: #fff; }
@media (prefers-color-scheme: dark) {
  :root { --page: #121416; --card: #1a1d20; --ink: #eceef0; --dim: #aeb6bf;
    --line: #353a40; --edge: #5a626b; --shade: #9a6c05; --kept: #55c987; --gold: #c79bf0;
    --tip: #eceef0; --on-tip: #16181c; } }
"""

STYLE = (
    PALETTE
    + """
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--ink);
  font: 16px/1.65 system-ui, sans-serif; overflow-wrap: anywhere; }
header, nav, section { max-width: 54rem; margin: 0 auto; padding: .75rem 1rem; }
header > details { width: 100%; margin: 0; }
header details dl { margin: .25rem 0; font-size: inherit; }
header { display: flex; flex-wrap: wrap; gap: .35rem 1.1rem; align-items: center;
  font-size: .875rem; }
h1 { font-size: 1rem; margin: 0; color: var(--ink); width: 100%; }
h2 { font-size: 1.35rem; line-height: 1.3; margin: 0 0 .75rem; text-wrap: balance; }
h3 { font-size: 1rem; margin: 0; display: inline; }
small { color: var(--dim); font-size: .8125rem; font-weight: 400; }
a { color: inherit; }
nav ol { margin: 0; padding: .75rem 1rem .75rem 2.75rem; background: var(--card);
  border: 1px solid var(--line); border-radius: .5rem; }
nav li { padding: .2rem 0; } nav li > span { display: flex; gap: .5rem 1rem;
  justify-content: space-between; align-items: baseline; } nav small { flex: none; }
section { padding-top: 1.5rem; scroll-margin-top: .5rem; }
.id { margin: 0; color: var(--dim); font-size: .8125rem; }
.bar { height: .5rem; border-radius: .25rem; background: var(--line); overflow: hidden; }
.bar i { display: block; height: 100%; background: var(--kept); }
dl { margin: .75rem 0 1rem; font-size: .9375rem; }
dl div { display: flex; gap: .75rem; }
dt { flex: 0 0 8.5rem; color: var(--dim); }
dd { margin: 0; min-width: 0; font-variant-numeric: tabular-nums; }
details { background: var(--card); border: 1px solid var(--line); border-radius: .5rem;
  margin: .75rem 0; padding: .6rem .9rem; }
summary { cursor: pointer; padding: .2rem 0; } summary small + small::before { content: "· "; }
details p { position: relative; margin: .5rem 0; line-height: 1.85; }
.s { unicode-bidi: isolate; border-radius: .2rem; padding: .08em .1em; cursor: help;
  background: color-mix(in srgb, var(--shade) calc(var(--c, 0) * 45%), transparent);
  -webkit-box-decoration-break: clone; box-decoration-break: clone; }
.s:not(.in), .out { color: var(--dim); }
.s.coarse { text-decoration: line-through; text-decoration-thickness: 1px; }
.s.list { white-space: pre-wrap; }
.s.block { display: block; white-space: pre; overflow-x: auto; line-height: 1.5;
  font-family: ui-monospace, monospace; font-size: .875em; }
.unit:has(> .block) { display: block; margin: .15rem 0; }
.s:focus-visible { outline: 2px solid var(--gold); outline-offset: 1px; }
.unit { border: 1px dotted var(--edge); border-radius: .3rem; padding: .1em .15em;
  -webkit-box-decoration-break: clone; box-decoration-break: clone; }
.unit.kept { border: 2px solid var(--kept); }
.unit sup { font-size: .6875rem; line-height: 0; color: var(--dim); margin-inline-end: .25em; }
.unit.kept sup { color: var(--kept); font-weight: 700; }
.gold { color: var(--gold); font-size: .875em; }
.why { position: absolute; inset-inline-start: 0; clip-path: inset(50%); width: 1px; height: 1px;
  overflow: hidden; white-space: nowrap; }
.s:hover > .why, .s:focus > .why { clip-path: none; width: auto; height: auto; overflow: visible;
  max-width: 100%; margin-top: 1.9em; z-index: 1; white-space: normal;
  font: .875rem/1.4 system-ui, sans-serif; padding: .4rem .6rem; border-radius: .35rem;
  background: var(--tip); color: var(--on-tip); pointer-events: none; }
body:has(#reasons:checked) .why { position: static; clip-path: none; width: auto; height: auto;
  overflow: visible; display: inline-block; margin: 0; padding: 0 0 0 .4em; white-space: normal;
  background: none; color: var(--dim); font: .75rem/1.4 system-ui, sans-serif; }
body:has(#less:checked) main .s:not(.in) { display: none; }
body:has(#less:checked) main .unit:not(.kept) { display: none; }
label { display: inline-flex; gap: .4rem; align-items: center; min-height: 2rem; color: var(--ink);
  cursor: pointer; }
input { accent-color: var(--kept); width: 1.1rem; height: 1.1rem; margin: 0; }
@media (max-width: 40rem) {
  h2 { font-size: 1.2rem; } header, nav, section { padding-inline: .75rem; }
  dt { flex-basis: 6rem; } }
@media print { header label { display: none; } details { break-inside: avoid; } }
"""
)

LEGEND = """<header>
<h1>What grasp kept and dropped</h1>
<span><span class="unit kept"><sup>u1</sup><span class="s kept in">kept unit</span></span></span>
<span><span class="unit"><sup>u2</sup><span class="s threshold">dropped unit</span></span></span>
<span class="s coarse">dropped by the coarse filter</span>
<span class="s kept in" style="--c:1">the stronger, the higher the coarse score</span>
<span><b class="gold">★</b> gold evidence</span>
<label><input type="checkbox" id="reasons">Reasons in the text</label>
<label><input type="checkbox" id="less">Only what was kept</label>
<details><summary>What the reasons mean</summary><dl>
{meanings}
</dl></details>
</header>"""
