"""The command `assess`: what tells people apart, and a policy to begin with."""

from typing import TYPE_CHECKING, Any

import click

from smalti.cli.options import PLACE, format_option
from smalti.cli.runs import verbose_option
from smalti.cli.scaffolding import columns_option

if TYPE_CHECKING:
    from smalti.engine.run.assessing import Assessment


@click.command()
@click.argument("data", metavar="DATA", type=PLACE)
@click.option("--respondent", metavar="COLUMN", help="The column that tells people apart.")
@click.option("--one-row-each", is_flag=True, help="Each row is about another person.")
@columns_option("--quasi-identifier", "quasi_identifiers", "What others may know of a person")
@columns_option("--sensitive", "sensitive", "What nobody should learn of a person: in no set")
@columns_option("--identifier", "identifiers", "What names a person: in no set")
@columns_option("--release", "released", "To be published as it is: others know it")
@click.option("--size", type=click.IntRange(1), default=3, show_default=True, metavar="N",
              help="Columns of the largest sets.")  # fmt: skip
@click.option("--threshold", default="0.2", show_default=True, metavar="RISK",
              help="The risk that is still accepted; 0.2 accepts that 5 people look alike.")  # fmt: skip
@click.option("--population", metavar="DATA", type=PLACE,
              help="All people that those of the data come from, for the journalist risk.")  # fmt: skip
@click.option("--sample-of", type=click.IntRange(1), metavar="N",
              help="The data is a random sample of so many people.")  # fmt: skip
@click.option("--null", multiple=True, metavar="TEXT", help="A text that means no value; may be repeated.")
@click.option("--header", is_flag=True,
              help="The first record names the columns, though it does not look so.")  # fmt: skip
@click.option("--report", metavar="FILE", type=PLACE,
              help="Write the JSON report to a new file that its owner alone can read.")  # fmt: skip
@click.option("--page", metavar="FILE", type=PLACE,
              help="Write it as a page of HTML to a new file that its owner alone can read.")  # fmt: skip
@click.option("--init", "begins", is_flag=True,
              help="Write a description and a policy with these roles, as `init` does.")  # fmt: skip
@verbose_option
@format_option("human", "json")
def assess(data: str, **options: Any) -> int:
    """Show what tells people of a table apart.

    DATA is what `smalti init` takes. Shown are the columns, the sets of columns that tell people apart,
    the risk that somebody finds a person again, and a role to begin with for each column. All of it is
    about the data, and for its owner. It holds counts and names of columns, and no value.
    """
    from smalti import assessing
    from smalti.cli.keys import write_new
    from smalti.json.assessments import assessment_json
    from smalti.json.text import as_json
    from smalti.show.assessment import show_assessment
    from smalti.show.terminal import console, show_written

    shown_as, verbose = options.pop("shown_as"), options.pop("verbose")
    report, begins, page = options.pop("report"), options.pop("begins"), options.pop("page")
    assessment = assessing.assess(data, **options)
    document = as_json(assessment_json(assessment))
    if report is not None:
        write_new(report, document.encode())
    if page is not None:
        from smalti.reports.assessments import page as page_of
        from smalti.reports.web import to_html

        write_new(page, to_html(page_of(assessment)).encode())
    if shown_as == "json":
        click.echo(document, nl=False)
    else:
        show_assessment(console(), assessment, in_full=verbose)
        show_written(console(), page, report)
    if begins:
        _begin(assessment, data, options, is_shown=shown_as != "json")
    elif shown_as != "json":
        _show_next(assessment, data, options)
    return 0


def _begin(assessment: "Assessment", data: str, options: dict[str, Any], *, is_shown: bool) -> None:
    from smalti.engine.run.profiling import check_nulls_are_written
    from smalti.scaffolding import name_of, scaffold
    from smalti.show.scaffold import show_scaffold
    from smalti.show.terminal import console
    from smalti.starting import parties_of

    profile, parties = assessment.profile, parties_of(None, None, None, None)
    check_nulls_are_written(profile)
    result = scaffold(profile, name_of(profile), _roles(assessment, options), parties, None)
    if is_shown:
        show_scaffold(console(), result, data)


def _roles(assessment: "Assessment", options: dict[str, Any]) -> Any:
    from smalti.assessing import roles_of
    from smalti.roles import Roles

    names = ("respondent", "one_row_each", "quasi_identifiers", "sensitive", "identifiers", "released")
    return roles_of(assessment, Roles(**{name: options[name] for name in names}))


def _show_next(assessment: "Assessment", data: str, options: dict[str, Any]) -> None:
    """The command that begins a policy with these roles."""
    import shlex

    from rich.text import Text

    from smalti.engine.run.assessing import Proposed
    from smalti.show.terminal import LABEL, bullet, console

    roles = _roles(assessment, options)
    words = ["smalti", "init", data, *(["--one-row-each"] if options["one_row_each"] else [])]
    for option, name in roles.named():
        words += [option, name]
    described = assessment.profile.description
    for text in () if described else options["null"]:
        words += ["--null", text]
    out = console()
    out.print(Text("next", style=LABEL))
    bullet(out, "Proposed roles come from counts and names of columns. Decide for each column, first where"
                " the table says so: can somebody know it of a person (quasi-identifier), should nobody"
                " learn it (--sensitive), does it name a person (--identifier)? A column without a role is"
                " dropped.")  # fmt: skip
    keys = assessment.proposed(Proposed.KEY)
    if keys:
        bullet(out, f"The person may be the one in {' or '.join(keys)}: say --respondent COLUMN, or"
                    " --one-row-each.")  # fmt: skip
    if options["null"] and described:
        bullet(out, f"Write the texts of --null into `{described}` as `null`: runs go by what it states.")
    bullet(out, "Then begin a policy, which says how many people have to look alike:")
    out.print(Text(f"  {shlex.join(words)}"))
