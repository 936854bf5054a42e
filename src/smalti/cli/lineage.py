"""The command that shows what an output was made from."""

import click

from smalti.cli.options import format_option, registry_option


@click.command()
@click.argument("target", metavar="IRI")
@registry_option
@format_option("openlineage", "prov", "dcat")
def lineage(target: str, registry: str, shown_as: str) -> int:
    """Export what an output was made from, for catalogues.

    `openlineage`: a line of JSON for each run, with the lineage of columns; `prov`: Turtle; `dcat`: an
    entry of a data catalogue, in Turtle. All of it is public: no party that asked, no path, no figure of an
    owner's report.
    """
    from smalti.cli.opening import open_registry
    from smalti.policy.decide.names import iri

    opened, output = open_registry(registry), iri(target, "IRI")
    if shown_as == "openlineage":
        from smalti.engine.run.lineage import openlineage

        text = openlineage(opened, output)
    else:
        from smalti.engine.run.records import export_catalogue, export_lineage

        text = export_lineage(opened, output) if shown_as == "prov" else export_catalogue(opened, output)
    click.echo(text, nl=False)
    return 0
