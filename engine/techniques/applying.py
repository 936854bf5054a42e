"""Single techniques on a staged table: records are left out, and columns changed, each by itself.

How often values occur is counted first, in all rows that take part; then records are left out, and the
columns are changed. What is drawn at random is drawn here alone, once for each run.
"""

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pyarrow as pa

from smalti.engine.backends.staged import Listed, StagedTable
from smalti.engine.plan.any_plan import PlanOfColumns
from smalti.engine.plan.masks import Averaged, Mask, MaskedColumn, Noisy, RareCells, RareRecords
from smalti.engine.plan.masks import Coded as Thresholds
from smalti.engine.plan.plan import RespondentColumn
from smalti.engine.techniques.averages import averages
from smalti.engine.techniques.errors import error_of_recoded
from smalti.engine.techniques.mechanisms import Secrets, noise_of, recoding_of
from smalti.engine.techniques.values import numbers_by_value, numbers_of_texts
from smalti.errors import InternalError
from smalti.transforms.masking.additive_noise import written
from smalti.transforms.masking.rare import are_rare
from smalti.transforms.masking.sampling import sampled
from smalti.transforms.noise.samplers import SAMPLER, Sampler, check_available
from smalti.transforms.problem import MISSING, Integers


def apply_mask(
    plan: PlanOfColumns, mask: Mask, table: StagedTable, secrets: Secrets, sampler: Sampler = SAMPLER
) -> dict[str, Fraction]:
    """Leave out records, and put masked values in the place of others; nothing is written.

    Args:
        plan: says what its columns hold, and who respondents are.
        mask: what to do.
        table: the rows that take part; from here on, whatever is asked of it is about what is left.
        secrets: the key of pseudonyms, and hierarchies.
        sampler: where what is random comes from.

    Returns:
        By column, what it cost; see `errors`.

    Raises:
        DataError: a value does not fit the plan.
        BackendError: the machine.
    """
    if any(isinstance(each, Noisy) and each.distribution == "normal" for each in mask.columns):
        check_available()
    run = _Run(plan, mask, table, secrets, sampler)
    run.carry_out()
    return {column: error for column, error in run.errors.items() if error is not None}


class _Run:
    def __init__(
        self, plan: PlanOfColumns, mask: Mask, table: StagedTable, secrets: Secrets, sampler: Sampler
    ) -> None:
        self._plan, self._wanted, self._table = plan, mask, table
        self._secrets, self._sampler = secrets, sampler
        self.errors: dict[str, Fraction | None] = {}

    def carry_out(self) -> None:
        mask = self._wanted
        rare = {
            each.column: self._rare(each)
            for each in (*mask.rare_records, *mask.columns)
            if isinstance(each, RareRecords | RareCells)
        }
        averaged = {
            each.column: averages(each, self._plan, self._table, self._secrets.hierarchies)
            for each in mask.columns
            if isinstance(each, Averaged)
        }
        self.errors = {
            each.column: averaged[each.column].error if isinstance(each, Averaged) else self._error(each)
            for each in mask.columns
            if isinstance(each, Averaged | Thresholds)
        }
        for records in mask.rare_records:
            self._table.leave_out(Listed(records.column, rare[records.column]))
        if mask.sampling_rate is not None:
            self._sample(Fraction(mask.sampling_rate))
        for each in mask.columns:
            if each.column in averaged:
                self._table.recode(each.column, averaged[each.column].recode)
            else:
                self._mask(each, rare.get(each.column, pa.array([], pa.string())))

    def _error(self, node: Thresholds) -> Fraction | None:
        column = self._plan.column(node.column)
        recode = recoding_of(node, column, self._secrets, pa.array([], pa.string()))
        if recode is None:
            raise InternalError("thresholds depend on rows")
        values, _, rows = self._table.pairs(node.column, None)
        is_there = values.codes != MISSING
        texts = values.texts.take(pa.array(values.codes[is_there] - 1))
        return error_of_recoded(column, texts, recode(texts), rows[is_there])

    # --- Records

    def _rare(self, said: RareRecords | RareCells) -> pa.Array:
        """The rare texts of a column: all spellings of the values that few respondents have."""
        values, respondents, rows = self._table.pairs(said.column, self._respondent)
        is_there = values.codes != MISSING
        present = np.unique(values.codes[is_there])
        texts = values.texts.take(pa.array(present - 1))
        of_text = numbers_of_texts(self._plan.column(said.column), texts)
        people = None
        if respondents is not None and self._respondent is not None:
            people = numbers_by_value(self._plan.column(self._respondent), respondents)[is_there]
        numbers = of_text[np.searchsorted(present, values.codes[is_there])]
        few = are_rare(numbers, people, rows[is_there], said.minimum)
        return texts.filter(pa.array(few[of_text]))

    @property
    def _respondent(self) -> str | None:
        respondent = self._plan.read.respondent
        return respondent.column if isinstance(respondent, RespondentColumn) else None

    def _sample(self, rate: Fraction) -> None:
        if self._respondent is None:
            rows = self._table.rows()
            self._table.keep_rows(rows[sampled(len(rows), rate, self._sampler)])
            return
        texts = self._table.texts(self._respondent)
        people = numbers_of_texts(self._plan.column(self._respondent), texts)
        drawn = sampled(int(people.max(initial=-1)) + 1, rate, self._sampler)
        self._table.keep(Listed(self._respondent, texts.filter(pa.array(drawn[people]))))

    # --- Columns

    def _mask(self, node: MaskedColumn, rare: pa.Array) -> None:
        if isinstance(node, Noisy):
            self._add_noise(node)
            return
        recode = recoding_of(node, self._plan.column(node.column), self._secrets, rare)
        if recode is not None:
            self._table.recode(node.column, recode)

    def _add_noise(self, node: Noisy) -> None:
        noise = noise_of(node)
        rows, numbers, texts = self._table.numbers_by_row(node.column)
        present = np.unique(numbers[numbers != MISSING])
        units = np.zeros(len(texts) + 1, np.int64)
        units[present] = noise.in_units(texts.take(pa.array(present - 1)).to_pylist())
        is_there = numbers != MISSING
        noisy = noise.drawn(units[numbers[is_there]], self._sampler)
        self._table.renew(node.column, rows, _published(noisy, is_there, node))


def _published(noisy: Integers, is_there: Sequence[bool] | np.ndarray, node: Noisy) -> pa.Array:
    """By row the text of its number; null where it has none."""
    distinct, places = np.unique(noisy, return_inverse=True)
    texts = pa.array(written(distinct.tolist(), node.unit), pa.string())
    of_rows = np.zeros(len(is_there), np.int64)
    of_rows[is_there] = places
    return texts.take(pa.array(of_rows, mask=~np.asarray(is_there)))
