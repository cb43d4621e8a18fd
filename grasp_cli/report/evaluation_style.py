"""The look of the page of `grasp evaluate`."""

from __future__ import annotations

from grasp_cli.report.explain_style import PALETTE

_COLOURS = (
    "#3b6fd4",
    "#d1651b",
    "#16855b",
    "#b0408f",
    "#8a6d1a",
    "#c23b3b",
    "#0f8299",
    "#7454c7",
    "#5d7a16",
    "#6b7280",
)
_LIGHTER = "color-mix(in srgb, {colour} 62%, white)"

STYLE = (
    PALETTE
    + """
:root { --loss: #b3261e; --gain: #16703c; }
@media (prefers-color-scheme: dark) { :root { --loss: #ff8a80; --gain: #55c987; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--ink);
  font: 16px/1.55 system-ui, sans-serif; overflow-wrap: anywhere; }
header, main { max-width: 92rem; margin: 0 auto; padding: 0 1rem; }
header { padding-top: 1.5rem; }
h1 { font-size: 1.5rem; line-height: 1.3; margin: 0; text-wrap: balance; }
h2 { font-size: 1.15rem; margin: 2rem 0 .5rem; }
h3 { font-size: .9375rem; margin: 0 0 .35rem; }
p { margin: .35rem 0; } .note, header p { color: var(--dim); font-size: .875rem; }
.wide { overflow-x: auto; background: var(--card); border: 1px solid var(--line);
  border-radius: .5rem; }
table { border-collapse: collapse; width: 100%; font-size: .875rem; }
th, td { padding: .4rem .55rem; text-align: left; vertical-align: top;
  overflow-wrap: normal; }
thead th { color: var(--dim); font-weight: 600; white-space: nowrap;
  border-bottom: 1px solid var(--edge); }
tbody td { border-top: 1px solid var(--line); }
tbody:first-of-type tr:first-child td { border-top: 0; }
tbody + tbody tr:first-child td { border-top: 2px solid var(--edge); }
td small { display: block; color: var(--dim); font-size: .75rem; }
.num { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; }
b { font-weight: 700; }
ul { margin: .25rem 0; padding-left: 1.25rem; font-variant-numeric: tabular-nums; }
details { margin: .5rem 0; font-size: .875rem; } summary { cursor: pointer; padding: .25rem 0; }
dl { margin: .25rem 0; } dl div { display: flex; gap: .75rem; padding: .1rem 0; }
dt { flex: 0 0 9rem; color: var(--dim); } dd { margin: 0; min-width: 0; }
.plots { display: grid; gap: 1rem; grid-template-columns: repeat(2, minmax(0, 1fr)); }
figure { margin: 0; background: var(--card); border: 1px solid var(--line);
  border-radius: .5rem; padding: .75rem; }
figcaption { font-size: .875rem; color: var(--dim); }
svg { display: block; width: 100%; height: auto; }
svg text { font: 12px system-ui, sans-serif; fill: var(--dim); }
svg .name { fill: currentColor; font-weight: 600; }
.grid { stroke: var(--line); fill: none; }
.front { stroke: var(--edge); stroke-width: 1.5; stroke-dasharray: 4 3; fill: none; }
.bars { stroke: currentColor; opacity: .45; fill: none; }
circle { stroke: currentColor; stroke-width: 2; } circle.best { fill: currentColor; }
circle.beaten { fill: var(--card); }
.tools { margin: .5rem 0; font-size: .875rem; }
input { font: inherit; padding: .3rem .5rem; border: 1px solid var(--edge); border-radius: .3rem;
  background: var(--card); color: var(--ink); width: 16rem; max-width: 100%; }
button { font: inherit; color: inherit; background: none; border: 0; padding: 0; margin: 0;
  text-align: inherit; cursor: pointer; }
button:focus-visible, input:focus-visible, summary:focus-visible {
  outline: 2px solid var(--gold); outline-offset: 2px; }
#questions > tbody > tr > td:first-child { min-width: 18rem; }
thead button::after { content: " \\2195"; color: var(--edge); }
th[aria-sort=ascending] button::after { content: " \\2191"; color: var(--ink); }
th[aria-sort=descending] button::after { content: " \\2193"; color: var(--ink); }
td > button[aria-expanded]::before { content: "\\25b8"; display: inline-block; width: 1em;
  color: var(--dim); }
td > button[aria-expanded=true]::before { content: "\\25be"; }
tr:has(> td > button[aria-expanded=true]) > td { background: var(--page); }
#questions tbody tr:hover > td { background: var(--page); }
.loss { color: var(--loss); } .gain { color: var(--gain); }
#questions > tbody > tr.open > td { max-width: 0; }
tr.open > td { padding: .25rem .55rem 1rem; background: var(--page); border-top: 0; }
.open .inner { background: var(--card); }
.inner { border: 1px solid var(--line); border-radius: .4rem; margin: .5rem 0; overflow-x: auto; }
.inner tr { cursor: pointer; } .inner tr.chosen > td { background:
  color-mix(in srgb, var(--shade) 22%, transparent); }
.inner tr > td:first-child { white-space: nowrap; min-width: 0; }
.inner .answer { min-width: 14rem; }
.sides { display: grid; gap: 1rem; grid-template-columns: repeat(auto-fit, minmax(18rem, 1fr)); }
.side { background: var(--card); border: 1px solid var(--line); border-radius: .4rem;
  padding: .75rem; min-width: 0; overflow-wrap: anywhere; }
.side p { white-space: pre-wrap; margin: 0 0 .75rem; }
.side strong { display: block; }
.in { background: color-mix(in srgb, var(--kept) 18%, transparent);
  -webkit-box-decoration-break: clone; box-decoration-break: clone; border-radius: .2rem; }
.out { color: var(--dim); }
.gold { text-decoration: underline 2px var(--gold); text-underline-offset: .2em; }
.error { color: var(--loss); }
.key { font-size: .8125rem; color: var(--dim); }
@media (max-width: 56rem) { .plots { grid-template-columns: 1fr; } }
@media (max-width: 40rem) {
  header, main { padding-inline: .75rem; } dt { flex-basis: 6rem; } }
@media print { .tools { display: none; } figure, .side { break-inside: avoid; } }
"""
    + "".join(f".c{n} {{ color: {colour}; }}\n" for n, colour in enumerate(_COLOURS))
    + "@media (prefers-color-scheme: dark) {\n"
    + "".join(
        f".c{n} {{ color: {_LIGHTER.format(colour=colour)}; }}\n"
        for n, colour in enumerate(_COLOURS)
    )
    + "}\n"
)
