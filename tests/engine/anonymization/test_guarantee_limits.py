"""What a certificate of classes says that it does not protect from, by how columns are published."""

import pytest

from smalti.engine.anonymization.guarantee import ClassGuarantee, ColumnForm
from smalti.engine.plan.published_columns import LabelForm
from smalti.transforms.base import Guarantee

EXTREMES = "learning the smallest and largest value of a class, which belong to real people"
SHOWN = {LabelForm.RANGES, LabelForm.SETS}


@pytest.mark.parametrize("form", LabelForm)
def test_extremes_are_uncovered_where_labels_show_them(form: LabelForm) -> None:
    promised = Guarantee("k-anonymity", 2, None)
    alone = ClassGuarantee(promised, label_forms=(ColumnForm("age", form),))
    assert (EXTREMES in alone.limits) is (form in SHOWN)
    ranged = ClassGuarantee(promised, label_forms=(*alone.label_forms, ColumnForm("b", LabelForm.RANGES)))
    assert EXTREMES in ranged.limits
    assert EXTREMES in ClassGuarantee(promised).limits, "earlier certificates do not say how"
