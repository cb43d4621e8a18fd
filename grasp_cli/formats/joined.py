"""Files that name questions by id alone: a run, judgements. The questions stand in another file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from grasp_cli.formats.base import Sources
from grasp_cli.formats.qrels import gold_documents, read_qrels
from grasp_cli.formats.topics import read_questions
from grasp_cli.formats.trec_names import trec_name
from grasp_cli.formats.trec_run import read_run
from grasp_cli.pipe.errors import DataError, UsageError
from grasp_cli.pipe.records import Record
from grasp_cli.pipe.sources import read_documents

_NO_TEXT = "contexts have an id and a score, but no text: name the documents with --corpus or -x"
_NOT_FOUND = "documents of the run are not among the documents given: their text is empty"
_NO_QUESTION = "queries are not among the questions: left out"
_NOTHING = "questions are not in the run: they have no contexts"
_UNJUDGED = "questions are not judged: left out"


class RunContexts:
    """A TREC run as the contexts of its questions, in the order of the questions.

    A context is a document of the corpus, or all its passages in the index, one after another.
    """

    failed = 0

    def __init__(self, sources: Sources) -> None:
        self.notes: Counter[str] = Counter()
        self._sources = sources
        if sources.corpus and sources.index:
            raise UsageError("--corpus and -x both say where the documents are: give one of them")

    def records(self, paths: list[Path]) -> Iterator[Record]:
        """Every question, with what the run found for it."""
        questions = self._sources.needed_questions("trec-run")
        run = read_run(paths)
        wanted = {document for documents in run.values() for document in documents}
        texts = self._texts(wanted)
        found = 0
        for record in read_questions(questions):
            ranking = run.get(trec_name(record["id"]))
            found += ranking is not None
            self.notes[_NOTHING] += ranking is None
            yield {**record, "contexts": self._contexts(ranking or {}, texts)}
        self.notes[_NO_QUESTION] += len(run) - found

    def _contexts(
        self, ranking: Mapping[str, float], texts: Mapping[str, list[Record]] | None
    ) -> list[Record]:
        contexts: list[Record] = []
        for name, score in ranking.items():
            pieces = (texts or {}).get(name)
            if pieces is None:
                self.notes[_NO_TEXT if texts is None else _NOT_FOUND] += 1
                pieces = [{"id": name, "text": ""}]
            for piece in pieces:
                contexts.append({**piece, "score": score, "rank": len(contexts) + 1})
        return contexts

    def _texts(self, wanted: set[str]) -> dict[str, list[Record]] | None:
        """The wanted documents, by their names in the run, as contexts without a score."""
        if self._sources.corpus:
            documents = read_documents([self._sources.corpus])
            named = ((trec_name(document["id"]), document) for document in documents)
            return {name: [document] for name, document in named if name in wanted}
        return _passages(self._sources.index, wanted) if self._sources.index else None


class JudgedQuestions:
    """Judgements as the gold documents of their questions, in the order of the questions."""

    failed = 0

    def __init__(self, sources: Sources) -> None:
        self.notes: Counter[str] = Counter()
        self._sources = sources
        if sources.corpus or sources.index:
            raise UsageError("--corpus and -x are for trec-run, not for qrels")

    def records(self, paths: list[Path]) -> Iterator[Record]:
        """Every judged question."""
        questions = self._sources.needed_questions("qrels")
        judgements = read_qrels(paths)
        by_name = {trec_name(query): query for query in judgements}
        found = 0
        for record in read_questions(questions):
            query = by_name.get(trec_name(record["id"]))
            if query is None:
                self.notes[_UNJUDGED] += 1
                continue
            found += 1
            yield {**record, "evidence_gold": gold_documents(judgements[query])}
        self.notes[_NO_QUESTION] += len(judgements) - found


def _passages(directory: Path, wanted: Iterable[str]) -> dict[str, list[Record]]:
    """The passages of the wanted documents in an index, in the order of their offsets."""
    from grasp_cli.retrieval.store import Index, is_index

    if not is_index(directory):
        raise DataError(f"{directory}: there is no index; make one with grasp index -x {directory}")
    index, chosen = Index(directory), set(wanted)
    found: dict[str, list[Record]] = {}
    for position in range(index.manifest.passages):
        name = trec_name(index.stored(position)["id"])
        if name in chosen:
            found.setdefault(name, []).append(index.context(position, {}))
    return {
        name: sorted(passages, key=lambda passage: passage.get("start", 0))
        for name, passages in found.items()
    }
