"""Abbreviations and sentence openers of English and German, with a little French and Spanish.

Written without the final full stop. A lower-case entry stands for every spelling (`fig`, `Fig`,
`FIG`); an entry with a capital only for itself (`Gen` is a title, `gen` is not).
"""

from __future__ import annotations


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Never the last word of a sentence: a name, a number or an example follows.
BEFORE_NAME = _words(
    """
    Mr mr Mrs mrs Ms Mx Messrs Dr dr Drs Prof prof Rev Hon Gen Maj Capt Cpt Cmdr Lt Col Sgt Cpl Pvt
    Adm Gov Sen Rep Reps Sens Pres Supt Insp Fr Msgr Mme Mlle Mmes Amb Treas Sra Srta Dra Hr Fr Frl
    Dipl Ing Mag Univ
    vs viz e.g i.e eg ie cf ca resp incl excl esp wrt spp sp subsp var cv pron
    z.b d.h u.a z.t o.ä v.a bzw evtl ggf inkl
    exkl sog vgl geb gest zzgl abzgl bzgl allg ursprgl insb insbes einschl urspr Hrsg hrsg
    """
)

# An abbreviation only where a number, a Roman numeral or a single capital follows: `No. 4`.
BEFORE_NUMBER = _words(
    """
    no nos nr nrs num fig figs sec secs p pp pg pgs vol vols ch chap art arts par para eq eqs tab
    ex ver v ed op pop bd abb abs anm kap ziff s f ff fol aufl jg hs
    Mon Tue Tues Wed Thu Thurs Fri Sat Sun
    """
)

# May also end a sentence: it does where a word that opens sentences follows.
MAYBE_LAST = _words(
    """
    inc ltd corp Co co bros llc plc gmbh etc jr sr esq Ph.D ph.d a.m p.m st Ste ave blvd rd hwy
    ft mt dept est assn natl intl govt approx al lit tel ext min sq hr hrs lb lbs oz ed eds trans
    rev
    Jan Feb Mar Apr Jun Jul Aug Sep Sept Oct Nov Dec
    Ala Ariz Ark Calif Colo Conn Del Fla Ga Ill Ind Kan Ky La Mass Md Mich Minn Miss Mo Mont Neb Nev
    Okla Ont Ore Pa Penn Tenn Tex Va Vt Wash Wis Wyo Que
    usw usf uvm jh jhd jhs mio mrd std sek str Jän Okt Dez bsp Bsp gegr verw anschl Sek
    """
)

# The rule knows acronyms by their shape; Punkt needs them in its list.
ACRONYMS = _words("U.S U.K U.N E.U D.C U.S.A U.S.S.R B.C A.D P.O R.I N.Y L.A N.J")

# Capitalised function words: after an abbreviation they open a sentence.
OPENERS = _words(
    """
    The A An This That These Those It Its He She They We I You His Her Their Our My Your There Here
    In On At As If When While Where After Before Although Though Because But And Or So However For
    From With Without By To One Some Many Most Both All Each Such No Not What Why How Who Which
    Whether Is Are Was Were Do Does Did Can Could Will Would Should Has Have Had Since Until During
    Under Then Thus Also Another Other Among According Despite Today Yesterday Now Even Once Only
    Just Still Yet Meanwhile Nevertheless Please Yes Let
    Der Die Das Ein Eine Einen Einem Einer Er Sie Es Wir Ich Ihr Sein Seine Ihre Dieser Diese Dieses
    Diesen Dabei Dann Dort Hier Auch Aber Und Oder Doch Wie Was Wer Wo Man Nur Noch Seit Während
    Nachdem Bis Beim Vom Im Am Auf Aus Bei Mit Nach Von Vor Für Zu Zum Zur Durch Über Unter Als Wenn
    Weil Da Zwischen Obwohl Heute Jedoch Damit Danach Daher Deshalb
    """
)

# German ordinals, `am 3. Mai`, `im 19. Jahrhundert`: words before or after the number.
BEFORE_ORDINAL = _words(
    """
    am vom zum im beim der die das dem den des bis ab seit dessen deren ihr ihre ihren ihrem ihrer
    sein seine seinen seinem seiner mein meinen jeden jeder jedem dieser diesem diesen
    """
)
AFTER_ORDINAL = _words(
    """
    Januar Jänner Februar März April Mai Juni Juli August September Oktober November Dezember
    Jahrhundert Jahrhunderts Jahrhunderte Jahrtausend Jahrtausends Lebensjahr Geburtstag Jahrestag
    Platz Rang Klasse Auflage Bundesliga Liga Weltkrieg Stock Etage FC
    """
)
