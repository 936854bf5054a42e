"""The stable codes of diagnostics: one table. A code never changes its meaning, and is never used again."""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Code:
    """What a diagnostic's code stands for."""

    code: str
    title: str
    explanation: str
    """One sentence."""


TABLE: Final = (
    # The text
    Code("P101", "document too large", "a policy document has at most 1 MiB."),
    Code("P102", "not UTF-8", "a policy document is UTF-8 text (RFC 8259, 8.1)."),
    Code("P103", "not JSON", "the text does not follow the grammar of JSON; it is never repaired."),
    Code("P104", "nested too deeply", "objects and lists are nested at most 64 deep."),
    Code(
        "P105", "key said twice", "an object has each key once; JSON readers disagree on which one counts."
    ),
    Code("P106", "not a JSON number", "numbers are finite and written as JSON writes them."),
    Code("P107", "broken character", "a string holds half of a surrogate pair."),
    Code("P108", "too many values", "a policy document has at most 50,000 values."),
    Code("P109", "no such document", "the document cannot be read."),
    # JSON-LD
    Code("P201", "not a policy document", "a document is one policy object, or a list of them."),
    Code("P202", "context missing", "`@context` gives the words of a document their meaning."),
    Code(
        "P203", "unknown context", "only the contexts that are shipped may be named; none is ever fetched."
    ),
    Code("P204", "contexts out of order", "a later context redefines words of an earlier one."),
    Code("P205", "inline context refused", "a document may add prefixes, and may not redefine words."),
    Code(
        "P206", "unknown property", "JSON-LD deletes properties that it does not know; so they are errors."
    ),
    Code("P207", "JSON-LD keyword refused", "the keyword is not used in policies, or not supported yet."),
    Code("P208", "null", "JSON-LD deletes properties whose value is null; so they are errors."),
    Code("P209", "unknown word", "the value is a relative IRI: no context defines it."),
    Code("P210", "not JSON-LD", "the document does not follow the grammar of JSON-LD 1.1."),
    Code("P211", "unknown prefix or scheme", "the IRI has a prefix or scheme that nobody defines."),
    Code("P212", "not an IRI", "the text has characters that an IRI cannot have, or lacks a part."),
    Code("P213", "property said twice", "two keys of one object mean the same property."),
    # ODRL Information Model
    Code("P301", "unusable policy type", "the type of a policy is Set (or Policy) or Agreement."),
    Code("P302", "policy without rules", "a policy has a permission or a prohibition (ODRL IM 2.1)."),
    Code("P303", "part missing", "a rule has an action and a target (ODRL IM 2.6)."),
    Code("P304", "part said more than once", "the part occurs once."),
    Code("P305", "unknown action", "no vocabulary that is known defines the action."),
    Code("P306", "unknown operator", "ODRL has twelve operators (ODRL IM 2.5)."),
    Code("P307", "unknown operand", "no vocabulary that is known defines the left operand."),
    Code(
        "P308",
        "incomplete constraint",
        "a constraint has one leftOperand, one operator and a rightOperand.",
    ),
    Code("P309", "property out of place", "the property has no meaning at this place."),
    Code("P310", "described twice", "two places of one document describe the same IRI."),
    Code("P311", "not described here", "rules and constraints are written where they are used."),
    Code("P312", "refinement of a named action", "the refinement would hold for this action everywhere."),
    Code(
        "P313", "rdf:value is text", "the value of rdf:value is an IRI, written with `@id` (ODRL IM 2.4.2)."
    ),
    Code(
        "P314", "an IRI is needed", "the value names an asset, a party or a word, and is no text or number."
    ),
    Code(
        "P315", "unknown conflict strategy", "the strategies are perm, prohibit and invalid (ODRL IM 2.9)."
    ),
    Code("P316", "agreement without parties", "a rule of an agreement has an assigner and an assignee."),
    Code("P317", "unknown profile", "a profile that is not known must stop processing (ODRL IM 4.2)."),
    Code("P318", "policy replaced", "a policy with dct:isReplacedBy is void (ODRL IM 2.8)."),
    Code("P319", "unusable uid", "a uid is one absolute IRI."),
    Code("P320", "type contradicts the place", "a node's type is that of the property that leads to it."),
    Code(
        "P321", "reference to be fetched", "rightOperandReference must be fetched, and nothing is fetched."
    ),
    Code("P390", "not implemented yet", "the feature is known and refused; it is never ignored."),
    # The profile
    Code("P401", "unknown method", "the privacy models are named in the profile."),
    Code("P402", "unknown name", "the operand has a closed list of names."),
    Code("P403", "not a whole number", "the operand has a whole number."),
    Code("P404", "number too small", "below this number, nothing is promised."),
    Code("P405", "operator makes no sense", "the operand cannot be compared so."),
    Code("P406", "upper bound on privacy", "the bound limits protection from above, and not from below."),
    Code("P407", "column in two roles", "a column is dropped, generalised or kept, and only one of them."),
    Code("P408", "no sensitive column", "l-diversity is about sensitive columns."),
    Code("P409", "l without l-diversity", "k-anonymity has no l."),
    Code("P410", "l above k", "k respondents cannot have more than k values."),
    Code("P411", "refinement missing", "the method needs it."),
    Code("P412", "refinement repeated", "an operand occurs once among the refinements of an action."),
    Code("P413", "output is the target", "an action's output is a new asset."),
    Code("P414", "output missing", "a permission to anonymize names the asset that it makes."),
    Code("P415", "unknown purpose", "no vocabulary that is known defines the purpose."),
    Code("P416", "not a column", "a column is named by its IRI or its bare name."),
    Code("P417", "no quasi-identifier", "without quasi-identifiers k-anonymity promises nothing."),
    Code("P418", "output out of place", "only a permission to anonymize makes an output."),
    Code("P419", "refinement out of place", "the action has no such refinement."),
    Code("P420", "purpose said twice", "a rule's purposes are given in one place."),
    Code("P421", "nothing listed", "the value is an empty list or an empty text."),
    Code("P422", "name expected", "the operand has a name as its value."),
    # Warnings and notes
    Code("P501", "no uid", "a policy has a uid (ODRL IM 2.1); one is made from the document's digest."),
    Code("P502", "no profile", "a policy with words outside ODRL's core names a profile (ODRL IM 4.2)."),
    Code("P503", "1-diversity", "read as l-diversity."),
    Code("P504", "listed twice", "lists are sets in ODRL; the repetition means nothing."),
    Code("P505", "other spelling", "the word is another spelling of one that the profile defines."),
    Code("P599", "more findings", "the rest of the findings is left out."),
)

BY_CODE: Final = {code.code: code for code in TABLE}
