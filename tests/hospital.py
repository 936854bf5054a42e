"""The hospital of MOSAICrOWN D5.2."""

HOSPITAL = """\
1960/05/02,F,10041,stroke
1960/05/20,M,10032,dyspepsia
1960/05/12,M,10037,achlorhydria
1960/05/05,F,10044,epilepsy
1955/09/01,M,10043,helicobacter
1955/09/02,M,10042,helicobacter
1955/09/10,F,10039,helicobacter
1955/09/20,F,10030,helicobacter
1955/12/07,M,10030,dermatitis
1955/12/05,M,10031,retinitis
1958/12/11,F,10180,epilepsy
1955/12/25,F,10042,dermatitis
1955/12/30,F,10045,gastritis
1960/04/02,F,10036,stroke
1960/04/05,F,10034,labyrinthitis
1960/04/10,M,10047,gastritis
1960/04/30,M,10048,dyspepsia
"""
"""The 17 de-identified patients of Figure 2.1(a): date of birth, sex, ZIP, disease."""

FIGURE_3_4_GROUPS = ((5, 6, 9, 10), (1, 4, 14, 15), (7, 8, 12, 13), (2, 3, 16, 17))
FIGURE_3_4_COUNTS = (
    {"helicobacter": 2, "dermatitis": 1, "retinitis": 1},
    {"stroke": 2, "epilepsy": 1, "labyrinthitis": 1},
    {"helicobacter": 2, "dermatitis": 1, "gastritis": 1},
    {"dyspepsia": 2, "achlorhydria": 1, "gastritis": 1},
)
"""Figure 3.4, l = 3: its groups by row, from 1, and their values; row 11 is suppressed."""
