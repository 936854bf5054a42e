"""Facts about assets in memory, in the form that `ownership` needs."""

from dataclasses import dataclass, field
from typing import Final

from smalti.engine.registry.entries import AssetKind
from smalti.policy.model.column_iris import normalised_column
from smalti.policy.model.iris import is_plain
from smalti.vocab.terms import IRI

NONE: Final[frozenset[IRI]] = frozenset()


@dataclass(slots=True)
class Assets:
    """Facts about assets, in the form that `ownership` needs."""

    kinds: dict[IRI, AssetKind] = field(default_factory=dict)
    owners: dict[IRI, frozenset[IRI]] = field(default_factory=dict)
    made_from: dict[IRI, frozenset[IRI]] = field(default_factory=dict)
    collected: dict[IRI, frozenset[IRI]] = field(default_factory=dict)
    """The members of collections, by `normalised_column` of these."""
    encodings: dict[IRI, frozenset[IRI]] = field(default_factory=dict)
    """Those that are written with percent-encodings, by `normalised_column`."""

    def kind(self, iri: IRI) -> AssetKind | None:
        return self.kinds.get(iri)

    def direct_owners(self, iri: IRI) -> frozenset[IRI]:
        return self.owners.get(iri, NONE)

    def inputs(self, output: IRI) -> frozenset[IRI]:
        return self.made_from.get(output, NONE)

    def members(self, collection: IRI) -> frozenset[IRI]:
        return self.collected.get(normalised_column(collection), NONE)

    def encoded(self, spelled: IRI) -> frozenset[IRI]:
        return self.encodings.get(spelled, NONE)

    def admit(self, iri: IRI, kind: AssetKind) -> None:
        self.kinds[iri] = kind
        if not is_plain(iri):
            same = normalised_column(iri)
            self.encodings[same] = self.encodings.get(same, NONE) | {iri}


@dataclass(slots=True)
class TrustingAssets:
    """The same facts, with the authorities that an owner trusts beside that owner."""

    assets: Assets
    authorities: dict[IRI, frozenset[IRI]]

    def kind(self, iri: IRI) -> AssetKind | None:
        return self.assets.kind(iri)

    def direct_owners(self, iri: IRI) -> frozenset[IRI]:
        owners = self.assets.direct_owners(iri)
        return owners.union(*(self.authorities.get(owner, NONE) for owner in owners))

    def inputs(self, output: IRI) -> frozenset[IRI]:
        return self.assets.inputs(output)

    def members(self, collection: IRI) -> frozenset[IRI]:
        return self.assets.members(collection)

    def encoded(self, spelled: IRI) -> frozenset[IRI]:
        return self.assets.encoded(spelled)
