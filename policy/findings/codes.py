"""The stable codes of diagnostics: one table. A code never changes its meaning, and is never reused."""

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
    Code("P103", "not JSON", "the text does not follow the grammar of JSON; smalti never repairs it."),
    Code("P104", "nested too deeply", "objects and lists are nested at most 64 deep."),
    Code(
        "P105", "duplicate key", "an object has each key once; JSON readers disagree on which value counts."
    ),
    Code("P106", "not a JSON number", "numbers are finite and follow the grammar of JSON."),
    Code("P107", "broken character", "a string contains half of a surrogate pair."),
    Code("P108", "too many values", "a policy document has at most 50,000 values."),
    Code("P109", "unreadable document", "the document cannot be read."),
    # The short form
    Code(
        "P110",
        "not YAML",
        "the text does not follow the grammar of YAML, or uses a part that the short form does not have.",
    ),
    Code("P111", "no word of the short form", "the short form has no such word in this place."),
    Code("P112", "unusable value", "the word of the short form takes another kind of value."),
    Code("P113", "word out of place", "the word of the short form has a meaning, but not in this place."),
    Code("P114", "not in the short form", "the policy says what the short form has no word for."),
    # JSON-LD
    Code("P201", "not a policy document", "a document is one policy object, or a list of them."),
    Code("P202", "context missing", "`@context` defines the meaning of a document's words."),
    Code("P203", "unknown context", "a document may name only the shipped contexts; smalti fetches none."),
    Code("P204", "contexts out of order", "a later context redefines words of an earlier one."),
    Code("P205", "inline context refused", "an inline context may add prefixes, but not redefine words."),
    Code(
        "P206",
        "unknown property",
        "JSON-LD deletes properties that no context defines; smalti refuses them.",
    ),
    Code(
        "P207",
        "JSON-LD keyword refused",
        "policies do not use the keyword, or smalti does not support it yet.",
    ),
    Code("P208", "null", "JSON-LD deletes properties whose value is null; smalti refuses them."),
    Code("P209", "unknown word", "the value is a relative IRI: no context defines it."),
    Code("P210", "not JSON-LD", "the document does not follow the grammar of JSON-LD 1.1."),
    Code("P211", "unknown prefix or scheme", "the IRI has an undefined prefix or an unknown scheme."),
    Code(
        "P212",
        "not an IRI",
        "the text has characters that an IRI cannot have, a part is missing, or it is not in the one"
        " spelling that is accepted.",
    ),
    Code("P213", "duplicate property", "two keys of one object mean the same property."),
    Code("P214", "node used twice", "statements about a shared node would apply at each of its places."),
    Code("P215", "node not described", "the label names a node that the document does not describe."),
    Code("P216", "unused node", "the document describes the node, but none of its policies uses it."),
    Code(
        "P217",
        "not Turtle",
        "the text does not follow the grammar of Turtle, or a list in it is malformed.",
    ),
    # ODRL Information Model
    Code(
        "P301",
        "unusable policy type",
        "the type of a policy is Set (or Policy), Offer or Agreement (ODRL IM 2.1).",
    ),
    Code(
        "P302",
        "policy without rules",
        "a policy has a permission, a prohibition or an obligation (ODRL IM 2.1).",
    ),
    Code(
        "P303", "missing part", "a rule has an action and, except for some duties, a target (ODRL IM 2.6)."
    ),
    Code("P304", "repeated part", "the property has exactly one value."),
    Code("P305", "unknown action", "no known vocabulary defines the action."),
    Code("P306", "unknown operator", "ODRL has twelve operators (ODRL IM 2.5)."),
    Code("P307", "unknown operand", "no known vocabulary defines the left operand."),
    Code(
        "P308",
        "incomplete constraint",
        "a constraint has one leftOperand, one operator and a rightOperand.",
    ),
    Code("P309", "property out of place", "the property has no meaning in this place."),
    Code("P310", "described twice", "two places of a document describe the same IRI."),
    Code("P311", "not described here", "rules and constraints are written in full where they are used."),
    Code("P312", "refinement of a named action", "the refinement would apply wherever the action is used."),
    Code(
        "P313", "rdf:value is text", "the value of rdf:value is an IRI, written with `@id` (ODRL IM 2.4.2)."
    ),
    Code("P314", "IRI required", "assets, parties and words are named by IRIs, not by texts or numbers."),
    Code(
        "P315", "unknown conflict strategy", "the strategies are perm, prohibit and invalid (ODRL IM 2.9)."
    ),
    Code("P316", "agreement without parties", "a rule of an agreement has an assigner and an assignee."),
    Code(
        "P317",
        "unknown profile",
        "processing must stop at an unknown profile (ODRL IM 3.2); `smalti check` warns, and goes on.",
    ),
    Code("P318", "policy replaced", "a policy with dct:isReplacedBy is void (ODRL IM 2.8)."),
    Code("P319", "unusable uid", "a uid is one absolute IRI."),
    Code(
        "P320",
        "type contradicts the place",
        "a node has the type that the property leading to it requires.",
    ),
    Code(
        "P321",
        "reference that needs a fetch",
        "a rightOperandReference must be fetched, and smalti fetches nothing.",
    ),
    Code(
        "P322",
        "duty out of place",
        "a duty belongs to a permission, a remedy to a prohibition, an obligation to a policy, and a "
        "consequence to a duty or an obligation (ODRL IM 2.6.3 to 2.6.7).",
    ),
    Code(
        "P323", "types contradict each other", "the types Offer and Agreement are disjoint (ODRL IM 2.1)."
    ),
    Code("P324", "offer without assigner", "a rule of an offer has an assigner (ODRL IM 2.1.2)."),
    Code(
        "P325",
        "unusable interval",
        "dct:valid is `start/end` in ISO 8601, or `start=...; end=...`: dates, or times with their zone.",
    ),
    Code(
        "P326",
        "collection with two names",
        "a refined collection is named by its source, and has no uid (ODRL IM 2.2.3).",
    ),
    Code("P327", "refinement without source", "a refined collection is named by its source."),
    Code(
        "P328",
        "parent not found",
        "exactly one policy with this uid must be supplied or stored (ODRL IM 2.9).",
    ),
    Code("P329", "circular inheritance", "a policy cannot inherit from itself (ODRL IM 2.9)."),
    Code("P330", "too much inheritance", "inheritance is at most 16 policies deep, and limited in size."),
    Code(
        "P331", "unusable parent", "a policy cannot inherit from an Offer or from a document with errors."
    ),
    Code("P332", "outlives its parent", "a policy is valid only while all its parents are valid."),
    Code(
        "P333",
        "several ways to one output",
        "a rule that anonymizes or trains does so in one way, from one target to one output.",
    ),
    Code(
        "P340",
        "contradiction with what is around",
        "a target or party is the one that the policy's envelope, or its binding, states.",
    ),
    Code(
        "P341",
        "unusable action",
        "an action that a document defines leads up to use or transfer, and known ones stay where they are"
        " (ODRL IM 2.4).",
    ),
    Code(
        "P342",
        "policy that is not read",
        "a document of a data space has its policies where they are read: in a message, a definition, or"
        " `hasPolicy` of a dataset; and what ODRL's words say of their rules in the policies themselves.",
    ),
    Code("P343", "kept name", "such IRIs stand for what a template leaves open."),
    Code("P390", "not implemented yet", "smalti refuses the feature by name, and never ignores it."),
    Code(
        "P391",
        "not run yet",
        "the policy is valid, but `smalti run` refuses some of its words until they are implemented.",
    ),
    # The profile
    Code("P401", "unknown method", "the profile lists the methods."),
    Code("P402", "unknown name", "the operand takes a name from a closed list."),
    Code("P403", "not a number of this kind", "the operand takes a number, in most cases a whole one."),
    Code("P404", "number too small", "below this minimum the requirement promises nothing."),
    Code("P405", "unsuitable operator", "the operand does not support the operator."),
    Code(
        "P406",
        "upper bound on privacy",
        "the operator limits privacy from above; a lower limit is required.",
    ),
    Code("P407", "column with two roles", "a column has at most one role: dropped, generalised or kept."),
    Code("P408", "no sensitive column", "l-diversity and t-closeness require a sensitive column."),
    Code("P409", "l without l-diversity", "k-anonymity has no parameter l."),
    Code("P410", "l above k", "k respondents have at most k different values."),
    Code("P411", "refinement missing", "the method or the action requires the refinement."),
    Code("P412", "refinement repeated", "an operand occurs once in the refinements of an action."),
    Code("P413", "output is a source", "an action's output is a new asset."),
    Code("P414", "output missing", "a rule that anonymizes or trains names the asset that it produces."),
    Code("P415", "unknown purpose", "no known vocabulary defines the purpose."),
    Code("P416", "not a column", "a column is named by its IRI or its bare name."),
    Code("P417", "no quasi-identifier", "without quasi-identifiers k-anonymity promises nothing."),
    Code("P418", "output out of place", "only rules that anonymize or train have an output."),
    Code("P419", "refinement out of place", "the action has no such refinement."),
    Code("P421", "empty value", "the value is an empty list or an empty text."),
    Code("P422", "name expected", "the operand takes a name."),
    Code(
        "P423", "refinement of another method", "the method, algorithm or mechanism has no such refinement."
    ),
    Code("P424", "number out of range", "the number is outside the range of the operand."),
    Code(
        "P425",
        "parameter of a column",
        "a parameter of one column is an `and` of smalti:column and exactly one column parameter.",
    ),
    Code("P426", "ill-typed value", "the value does not fit its datatype, or the datatype is unknown."),
    Code("P427", "value without order", "only numbers, dates and dates with times have an order."),
    Code(
        "P428",
        "loss bounded twice",
        "epsilon, posterior belief and membership advantage determine each other; a policy states one.",
    ),
    Code("P429", "bounds out of order", "no number satisfies both bounds."),
    Code("P430", "not the name of a key", "a policy names a key, and never contains one."),
    Code("P431", "algorithm of another method", "the algorithm cannot meet what the method requires."),
    Code(
        "P432",
        "malformed logical constraint",
        "it has exactly one of and, or, xone and andSequence, with different operands (ODRL IM 2.5.2).",
    ),
    Code("P433", "value of another kind", "the operand takes another kind of value."),
    Code("P434", "unit out of place", "the operand has no unit."),
    Code("P435", "unsuitable mechanism", "the mechanism does not fit the delta or the method."),
    Code(
        "P436",
        "first cut of another column",
        "the first cut divides a quasi-identifier, as every cut does.",
    ),
    Code(
        "P437", "unsuitable partitioning", "single-dimensional cuts divide whole domains, not partitions."
    ),
    Code("P438", "delta beyond the budget", "a release never fits into a budget with a smaller delta."),
    Code(
        "P439",
        "noise and bound",
        "beside a bound on the loss, the noise of training is stated exactly or follows from the bound.",
    ),
    Code(
        "P440",
        "audit out of place",
        "an audit is a duty of a permission to train or otherwise use a model.",
    ),
    Code("P441", "training out of place", "only a permission can have the action to train a model."),
    Code(
        "P442",
        "output name too long",
        "the last part of the output's IRI names its file, and has at most 200 characters.",
    ),
    Code(
        "P443",
        "model or records",
        "a permission to train publishes a model or synthetic records, and its audits attack what it"
        " publishes.",
    ),
    # Warnings and notes
    Code(
        "P501",
        "no uid",
        "a policy has a uid (ODRL IM 2.1); smalti derives a missing one from the document's digest.",
    ),
    Code("P502", "no profile", "a policy with words outside ODRL's core names a profile (ODRL IM 4.2)."),
    Code("P503", "1-diversity", "read as l-diversity."),
    Code("P504", "listed twice", "lists are sets in ODRL; a repetition has no effect."),
    Code("P505", "other spelling", "the word is another spelling of one that the profile defines."),
    Code("P506", "offer", "an offer grants nothing; it proposes an agreement."),
    Code(
        "P507",
        "purpose of another vocabulary",
        "no vocabulary here defines the purpose; it matches only itself, unless a hierarchy places it.",
    ),
    Code(
        "P508",
        "unknown operand",
        "the operand is neither a known word nor a column of a target, so its value is never known.",
    ),
    Code("P511", "list in one text", "a text names one column; several columns are several texts."),
    Code("P512", "deprecated word", "ODRL 2.2 has another word for it, with the same meaning."),
    Code(
        "P513", "remedy left open", "a remedy that does not say how to anonymize is for people to fulfil."
    ),
    Code(
        "P520",
        "template",
        "the policy leaves its target, parties or the base of its names to be bound, and grants nothing.",
    ),
    Code("P599", "more findings", "further findings are left out."),
    # What a valid policy probably does not mean; and what does not fit the data's description
    Code("P601", "never applies", "the constraints of the rule exclude each other."),
    Code("P602", "void", "a permission and a prohibition of the policy contradict each other."),
    Code("P603", "ended", "the policy's validity is over."),
    Code(
        "P604",
        "always overridden",
        "a prohibition of the same policy forbids everything that the permission allows.",
    ),
    Code("P605", "ends of ranges", "a range ends at the smallest and the largest value of its class."),
    Code(
        "P606",
        "distinct l says little",
        "where every row has its own value, any class of l rows meets distinct l-diversity.",
    ),
    Code("P607", "respondent generalised", "the column that names a person is generalised, not dropped."),
    Code(
        "P608", "beyond the data", "the description declares fewer rows or values than the policy requires."
    ),
    Code("P609", "key published", "a published key links each published row to one row of the data."),
    Code("P610", "no such column", "the data's description has no column with this IRI."),
    Code("P611", "columns dropped", "columns without a role in the policy are dropped."),
    Code("P612", "unfit datatype", "the column's datatype does not allow what the policy requires."),
    Code("P613", "description of other data", "the description is not about a target of the policy."),
    Code("P614", "two respondents", "the policy and the description declare different respondents."),
    Code("P615", "no budget", "nothing is released without `smalti:budgetEpsilon`."),
    Code("P616", "budget without charges", "only differential privacy charges a budget."),
    Code(
        "P617",
        "unprotected model",
        "a model may memorise its training data, and no duty requires an audit.",
    ),
    Code("P620", "no respondent", "a run requires a statement of which rows belong to one person."),
    Code(
        "P621",
        "overlap at a column",
        "a column is part of its table, so rules about either overlap at the column.",
    ),
    Code(
        "P622",
        "no column of the table",
        "the target's IRI is below the table's, but names none of its columns.",
    ),
    Code("P623", "rules shut each other out", "one rule may use up the budget that another rule requires."),
    Code(
        "P624",
        "statements needed",
        "a rule permits only with facts, clauses or a date that a request alone can state.",
    ),
    Code("P625", "contradicts another policy", "a prohibition of one policy denies what another permits."),
    Code("P626", "no privacy model", "single techniques promise nothing that bounds what can be learned."),
    Code(
        "P627",
        "quasi-identifiers published exactly",
        "the guarantee is about sensitive values alone, and a published record can be of one person only.",
    ),
)

BY_CODE: Final = {code.code: code for code in TABLE}

RETIRED: Final = frozenset({"P420"})
"""Codes of earlier versions that no finding has any more."""
