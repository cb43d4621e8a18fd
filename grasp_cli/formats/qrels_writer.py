"""Write the gold documents of records as relevance judgements (qrels) of TREC or BEIR."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from grasp_cli.evaluation.retrieved import gold_judgement
from grasp_cli.formats.trec_names import trec_name
from grasp_cli.pipe.errors import UsageError
from grasp_cli.pipe.records import Record

_NO_GOLD = "records have no evidence_gold: nothing to write"
_SPACED = "ids hold white space, which TREC's qrels cannot: written with %20, as in a run"


class Qrels:
    """Lines of judgements: the gold documents of records with their grades (`relevance`, else 1).

    TREC's form cannot hold white space in ids. BEIR's form keeps ids as they are.
    """

    def __init__(self, *, beir: bool = False) -> None:
        self.notes: Counter[str] = Counter()
        self._beir = beir

    def lines(self, records: Iterable[Record]) -> Iterator[str]:
        """The lines of all records, in their order, without line ends."""
        if self._beir:
            yield "query-id\tcorpus-id\tscore"
        for record in records:
            judgement = gold_judgement(record)
            if judgement is None or judgement.by_title:
                self.notes[_NO_GOLD] += 1
                continue
            for document, grade in judgement.grades.items():
                yield self._line(record["id"], document, grade)

    def _line(self, query: str, document: str, grade: int) -> str:
        if not self._beir:
            names = trec_name(query), trec_name(document)
            self.notes[_SPACED] += names != (query, document)
            return f"{names[0]} 0 {names[1]} {grade}"
        if len(f"{query} {document}".splitlines()) > 1 or "\t" in query + document:
            raise UsageError(
                f'record "{query}": a tab or line break in an id does not fit beir-qrels; '
                "write --to qrels"
            )
        return f"{query}\t{document}\t{grade}"
