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
    Code("P214", "node used twice", "what is said of a shared node would hold at each of its places."),
    Code("P215", "nothing described", "the label names a node that the document does not describe."),
    Code("P216", "belongs to no policy", "the node is described, and no policy of the document uses it."),
    Code(
        "P217",
        "not Turtle",
        "the text does not follow the grammar of Turtle, or one of its lists is broken.",
    ),
    # ODRL Information Model
    Code(
        "P301",
        "unusable policy type",
        "the type of a policy is Set (or Policy), Offer or Agreement (ODRL IM 2.1).",
    ),
    Code(
        "P302", "policy without rules", "a policy has a permission, a prohibition or an obligation (2.1)."
    ),
    Code("P303", "part missing", "a rule has an action, and all but some duties a target (ODRL IM 2.6)."),
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
    Code(
        "P322",
        "duty out of place",
        "a duty belongs to a permission, a remedy to a prohibition, an obligation to a policy, and a "
        "consequence to a duty or an obligation (ODRL IM 2.6.3 to 2.6.7).",
    ),
    Code("P323", "types contradict each other", "an Offer is no Agreement: the types are disjoint (2.1)."),
    Code("P324", "offer without assigner", "a rule of an offer has an assigner (ODRL IM 2.1.2)."),
    Code(
        "P325",
        "unusable interval",
        "dct:valid is `start/end` in ISO 8601, or `start=...; end=...`: dates, or times with their zone.",
    ),
    Code(
        "P326",
        "collection with two names",
        "a collection that is refined is named by its source, and has no uid (ODRL IM 2.2.3).",
    ),
    Code("P327", "refinement without source", "a collection that is refined is named by its source."),
    Code("P328", "parent not found", "no policy with this uid is given or stored, or several are (2.9)."),
    Code("P329", "inherits in a circle", "a policy cannot inherit from itself (ODRL IM 2.9)."),
    Code("P330", "inherits too much", "inheritance is at most 16 policies deep, and bounded in size."),
    Code(
        "P331",
        "unusable parent",
        "an Offer passes nothing on, and neither does a document with errors.",
    ),
    Code(
        "P332",
        "outlives its parent",
        "a policy is valid only while the policies are that it inherits from.",
    ),
    Code(
        "P333",
        "several ways to one output",
        "a rule that anonymizes or trains does it in one way, from one target to one output.",
    ),
    Code("P390", "not implemented yet", "the feature is known and refused; it is never ignored."),
    Code(
        "P391",
        "not run yet",
        "the policy is valid, and uses words that `smalti run` refuses by name until they are implemented.",
    ),
    # The profile
    Code("P401", "unknown method", "the privacy models are named in the profile."),
    Code("P402", "unknown name", "the operand has a closed list of names."),
    Code("P403", "not a number of this kind", "the operand has a number, and mostly a whole one."),
    Code("P404", "number too small", "below this number, nothing is promised."),
    Code("P405", "operator makes no sense", "the operand cannot be compared so."),
    Code("P406", "upper bound on privacy", "the bound limits protection from above, and not from below."),
    Code("P407", "column in two roles", "a column is dropped, generalised or kept, and only one of them."),
    Code("P408", "no sensitive column", "l-diversity and t-closeness are about sensitive columns."),
    Code("P409", "l without l-diversity", "k-anonymity has no l."),
    Code("P410", "l above k", "k respondents cannot have more than k values."),
    Code("P411", "refinement missing", "the method or the action needs it."),
    Code("P412", "refinement repeated", "an operand occurs once among the refinements of an action."),
    Code("P413", "output is a source", "an action's output is a new asset."),
    Code("P414", "output missing", "whoever anonymizes or trains makes an asset, which the rule names."),
    Code("P415", "unknown purpose", "no vocabulary that is known defines the purpose."),
    Code("P416", "not a column", "a column is named by its IRI or its bare name."),
    Code("P417", "no quasi-identifier", "without quasi-identifiers k-anonymity promises nothing."),
    Code("P418", "output out of place", "only what is anonymized or trained has an output."),
    Code("P419", "refinement out of place", "the action has no such refinement."),
    Code("P421", "nothing listed", "the value is an empty list or an empty text."),
    Code("P422", "name expected", "the operand has a name as its value."),
    Code(
        "P423", "refinement of something else", "the method, algorithm or mechanism has no such refinement."
    ),
    Code("P424", "number out of range", "the operand has a range, and the number lies outside of it."),
    Code(
        "P425",
        "parameter of a column",
        "a parameter of one column is an `and` of smalti:column and exactly one parameter of columns.",
    ),
    Code("P426", "ill-typed value", "the value is none of its datatype, or the datatype is not known."),
    Code("P427", "nothing to order", "only numbers, dates and dates with times have an order."),
    Code(
        "P428",
        "loss bounded twice",
        "epsilon, posterior belief and membership advantage determine each other; one of them is given.",
    ),
    Code("P429", "bounds out of order", "no number is above the one bound and below the other."),
    Code("P430", "not the name of a key", "a policy names a key, and never holds one."),
    Code("P431", "algorithm of another method", "the algorithm cannot meet what the method promises."),
    Code(
        "P432",
        "malformed logical constraint",
        "it has one of and, or, xone and andSequence, with different conditions (ODRL IM 2.5.2).",
    ),
    Code("P433", "value of another kind", "the operand is compared with another kind of value."),
    Code("P434", "unit out of place", "the operand has no unit."),
    Code("P435", "impossible mechanism", "the mechanism cannot be had with this delta or method."),
    Code("P436", "first cut elsewhere", "only quasi-identifiers are cut, by the first cut, too."),
    Code("P437", "impossible partitioning", "cuts through whole domains are not cuts of partitions."),
    Code("P438", "delta beyond the budget", "a release never fits into a budget that has less delta."),
    Code(
        "P439",
        "noise and bound",
        "beside a bound on the privacy loss, the noise of training is exactly given, or follows from it.",
    ),
    Code("P440", "audit out of place", "an audit is the duty of who may train or otherwise use a model."),
    Code("P441", "training out of place", "a permission alone lets somebody train a model."),
    Code(
        "P442",
        "output's name too long",
        "an output's file is called by the last part of its IRI, which has at most 200 characters.",
    ),
    # Warnings and notes
    Code("P501", "no uid", "a policy has a uid (ODRL IM 2.1); one is made from the document's digest."),
    Code("P502", "no profile", "a policy with words outside ODRL's core names a profile (ODRL IM 4.2)."),
    Code("P503", "1-diversity", "read as l-diversity."),
    Code("P504", "listed twice", "lists are sets in ODRL; the repetition means nothing."),
    Code("P505", "other spelling", "the word is another spelling of one that the profile defines."),
    Code("P506", "offer", "an offer grants nothing: it proposes what an agreement may say later."),
    Code(
        "P507",
        "purpose of another vocabulary",
        "no vocabulary here defines the purpose; it matches only itself, unless a hierarchy places it.",
    ),
    Code(
        "P508",
        "unknown operand",
        "the operand is no known word, and no column under a target; what needs it is never known.",
    ),
    Code("P599", "more findings", "the rest of the findings is left out."),
    # What a valid policy probably does not mean; and what does not fit the data's description
    Code("P601", "never applies", "the constraints of the permission exclude each other."),
    Code("P602", "void", "a permission and a prohibition of the policy contradict each other."),
    Code("P603", "ended", "the policy's validity is over."),
    Code("P604", "always overridden", "a prohibition of the same policy forbids all that is permitted."),
    Code("P605", "ends of ranges", "a range ends at the smallest and the largest value of its class."),
    Code("P606", "distinct l says little", "where each row has its own value, any l is met by itself."),
    Code("P607", "respondent generalised", "the column that names a person is generalised, not dropped."),
    Code("P608", "more than there is", "the description says that the data has fewer rows or values."),
    Code("P609", "key published", "a key leads from each published row to one row of the data."),
    Code("P610", "no such column", "the data's description has no column with this IRI."),
    Code("P611", "columns dropped", "what no role of the policy names is dropped."),
    Code("P612", "unfit datatype", "the column's datatype does not allow what the policy says of it."),
    Code("P613", "description of something else", "the description is not about a target of the policy."),
    Code("P614", "two respondents", "the policy and the description declare different respondents."),
    Code("P615", "no budget", "nothing is released where no `smalti:budgetEpsilon` is declared."),
    Code("P616", "budget of nothing", "a budget is charged under differential privacy alone."),
    Code(
        "P617", "nothing guards the model", "a model may keep what it learns, and nobody has to audit it."
    ),
    Code("P620", "no respondent", "where nothing says which rows are about one person, no run is made."),
    Code(
        "P621", "meet at a column", "a column is a part of its table: a prohibition on it holds there, too."
    ),
    Code("P622", "no column of the table", "a target below the table that names none of its columns."),
    Code("P623", "rules shut each other out", "one rule may use up what another rule needs of a ledger."),
)

BY_CODE: Final = {code.code: code for code in TABLE}

RETIRED: Final = frozenset({"P420"})
"""Codes that were given once, and stand for nothing any more."""
