"""Every IRI that the code speaks of, once."""

from typing import Final, NewType

IRI = NewType("IRI", str)
"""An absolute IRI, as text."""

ODRL: Final = "http://www.w3.org/ns/odrl/2/"
MOSAICROWN: Final = "https://www.mosaicrown.eu/ns/mosaicrown/1/"
SMALTI: Final = "https://w3id.org/smalti#"
XSD: Final = "http://www.w3.org/2001/XMLSchema#"
RDF: Final = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
DCAT: Final = "http://www.w3.org/ns/dcat#"
DCT: Final = "http://purl.org/dc/terms/"
PROV: Final = "http://www.w3.org/ns/prov#"
DPV: Final = "https://w3id.org/dpv#"
DPV_ODRL: Final = "https://w3id.org/dpv/odrl#"
IDSC: Final = "https://w3id.org/idsa/code/"
RDFS: Final = "http://www.w3.org/2000/01/rdf-schema#"
SKOS: Final = "http://www.w3.org/2004/02/skos/core#"
CC: Final = "http://creativecommons.org/ns#"
SCHEMA: Final = "http://schema.org/"
FOAF: Final = "http://xmlns.com/foaf/0.1/"
VCARD: Final = "http://www.w3.org/2006/vcard/ns#"
EDC: Final = "https://w3id.org/edc/v0.0.1/ns/"
DSPACE: Final = "https://w3id.org/dspace/2025/1/"
CSVW: Final = "http://www.w3.org/ns/csvw#"
CSVW_EO: Final = "https://w3id.org/csvw-eo#"
CATENAX: Final = "https://w3id.org/catenax/2025/9/policy/"


def _odrl(name: str) -> IRI:
    return IRI(ODRL + name)


def _mosaicrown(name: str) -> IRI:
    return IRI(MOSAICROWN + name)


def _smalti(name: str) -> IRI:
    return IRI(SMALTI + name)


# Actions
ANONYMIZE: Final = _odrl("anonymize")
READ: Final = _odrl("read")
USE: Final = _odrl("use")
TRANSFER: Final = _odrl("transfer")
TRAIN: Final = _smalti("train")
AUDIT: Final = _smalti("audit")
MAKING: Final = frozenset({ANONYMIZE, TRAIN})
"""The actions that make an asset, which their rule names as its output."""
PLANNED_DUTIES: Final = frozenset({ANONYMIZE, AUDIT})
"""Actions of duties that a plan fulfils; any other duty must have been fulfilled before."""

# ODRL's structure: classes, properties, operands
SET: Final = _odrl("Set")
POLICY: Final = _odrl("Policy")
OFFER: Final = _odrl("Offer")
AGREEMENT: Final = _odrl("Agreement")
UID: Final = _odrl("uid")
PROFILE: Final = _odrl("profile")
CONFLICT: Final = _odrl("conflict")
PERMISSION: Final = _odrl("permission")
PROHIBITION: Final = _odrl("prohibition")
TARGET: Final = _odrl("target")
ACTION: Final = _odrl("action")
ASSIGNEE: Final = _odrl("assignee")
ASSIGNER: Final = _odrl("assigner")
OUTPUT: Final = _odrl("output")
OBLIGATION: Final = _odrl("obligation")
DUTY: Final = _odrl("duty")
REMEDY: Final = _odrl("remedy")
CONSEQUENCE: Final = _odrl("consequence")
INHERIT_FROM: Final = _odrl("inheritFrom")
SOURCE: Final = _odrl("source")
INCLUDED_IN: Final = _odrl("includedIn")
PART_OF: Final = _odrl("partOf")
BELONGS_TO: Final = _mosaicrown("belongsTo")
HAS_POLICY: Final = _odrl("hasPolicy")
ASSIGNER_OF: Final = _odrl("assignerOf")
ASSIGNEE_OF: Final = _odrl("assigneeOf")
ASSET_COLLECTION: Final = _odrl("AssetCollection")
PARTY_COLLECTION: Final = _odrl("PartyCollection")
CONSTRAINT: Final = _odrl("constraint")
REFINEMENT: Final = _odrl("refinement")
LEFT_OPERAND: Final = _odrl("leftOperand")
OPERATOR: Final = _odrl("operator")
RIGHT_OPERAND: Final = _odrl("rightOperand")
RIGHT_OPERAND_REFERENCE: Final = _odrl("rightOperandReference")
UNIT: Final = _odrl("unit")
DATA_TYPE: Final = _odrl("dataType")
STATUS: Final = _odrl("status")
ODRL_PURPOSE: Final = _odrl("purpose")
RDF_VALUE: Final = IRI(RDF + "value")
IS_REPLACED_BY: Final = IRI(DCT + "isReplacedBy")
VALID: Final = IRI(DCT + "valid")

# Words of a policy: what is promised, and of which columns
METHOD: Final = _mosaicrown("method")
K: Final = _mosaicrown("k")
L: Final = _mosaicrown("l")
IDENTIFIER: Final = _mosaicrown("identifier")
QUASI_IDENTIFIER: Final = _mosaicrown("quasi-identifier")
SENSITIVE: Final = _mosaicrown("sensitive")
RELEASED: Final = _smalti("released")
RESPONDENT: Final = _smalti("respondent")
ONE_ROW_EACH: Final = _smalti("oneRowEach")
ALGORITHM: Final = _smalti("algorithm")
PARTITIONING: Final = _smalti("partitioning")
DIMENSIONALITY: Final = _smalti("dimensionality")
CUT_SCORE: Final = _smalti("cutScore")
FRAGMENT_COLUMN: Final = _smalti("fragmentColumn")
PURPOSE: Final = _mosaicrown("purpose")
COLUMN: Final = _smalti("column")
DIVERSITY: Final = _smalti("diversity")
C: Final = _smalti("c")
T: Final = _smalti("t")
ALPHA: Final = _smalti("alpha")
DISTANCE: Final = _smalti("distance")
SUPPRESSION_LIMIT: Final = _smalti("suppressionLimit")
SUPPRESSED_RECORDS: Final = _smalti("suppressedRecords")
LOSS_MEASURE: Final = _smalti("lossMeasure")
STANDARDIZATION: Final = _smalti("standardization")
BLOCKS: Final = _smalti("blocks")
OUTPUT_FORM: Final = _smalti("outputForm")
LABEL_BOUNDS: Final = _smalti("labelBounds")
EPSILON: Final = _smalti("epsilon")
DELTA: Final = _smalti("delta")
POSTERIOR_BELIEF: Final = _smalti("posteriorBelief")
MEMBERSHIP_ADVANTAGE: Final = _smalti("membershipAdvantage")
MECHANISM: Final = _smalti("mechanism")
NEIGHBORS: Final = _smalti("neighbors")
ROWS_PER_RESPONDENT: Final = _smalti("rowsPerRespondent")
GROUPS_PER_RESPONDENT: Final = _smalti("groupsPerRespondent")
STATISTIC: Final = _smalti("statistic")
BUDGET_EPSILON: Final = _smalti("budgetEpsilon")
BUDGET_DELTA: Final = _smalti("budgetDelta")
POPULATION: Final = _smalti("population")
PRESENCE: Final = _smalti("presence")
TOP_CODE: Final = _smalti("topCode")
BOTTOM_CODE: Final = _smalti("bottomCode")
LEVEL: Final = _smalti("level")
INTERVAL_WIDTH: Final = _smalti("intervalWidth")
INTERVALS: Final = _smalti("intervals")
MINIMUM_FREQUENCY: Final = _smalti("minimumFrequency")
NOISE_DISTRIBUTION: Final = _smalti("noiseDistribution")
NOISE_SCALE: Final = _smalti("noiseScale")
PSEUDONYM: Final = _smalti("pseudonym")
PSEUDONYM_KEY: Final = _smalti("pseudonymKey")
MEASURE: Final = _smalti("measure")
GROUP_BY: Final = _smalti("groupBy")
PIXEL_SIZE: Final = _smalti("pixelSize")
PIXEL_NEIGHBORHOOD: Final = _smalti("pixelNeighborhood")

# Words of a policy: how a model is trained, and what it must withstand
RECIPE: Final = _smalti("recipe")
LABEL_COLUMN: Final = _smalti("labelColumn")
SYNTHETIC_RECORDS: Final = _smalti("syntheticRecords")
NOISE_MULTIPLIER: Final = _smalti("noiseMultiplier")
CLIPPING_NORM: Final = _smalti("clippingNorm")
SAMPLING_RATE: Final = _smalti("samplingRate")
EPOCHS: Final = _smalti("epochs")
ATTACK: Final = _smalti("attack")
ATTACK_ADVANTAGE: Final = _smalti("attackAdvantage")
ATTACK_PRECISION: Final = _smalti("attackPrecision")
TRUE_POSITIVE_RATE: Final = _smalti("truePositiveRate")
FALSE_POSITIVE_RATE: Final = _smalti("falsePositiveRate")
EPSILON_LOWER_BOUND: Final = _smalti("epsilonLowerBound")
CONFIDENCE: Final = _smalti("confidence")

# Methods (values of m:method) and techniques (values of s:algorithm)
K_ANONYMITY: Final = "k-anonymity"
L_DIVERSITY: Final = "l-diversity"
T_CLOSENESS: Final = "t-closeness"
K_MAP: Final = "k-map"
DELTA_PRESENCE: Final = "delta-presence"
DIFFERENTIAL_PRIVACY: Final = "differential-privacy"
LOCAL_DIFFERENTIAL_PRIVACY: Final = "local-differential-privacy"
MASKING: Final = "masking"
SYNTHESIS: Final = "synthesis"
"""No value of m:method: the way of a permission to train that publishes synthetic records."""
CHARGED_METHODS: Final = frozenset({DIFFERENTIAL_PRIVACY, LOCAL_DIFFERENTIAL_PRIVACY})
"""What they make loses privacy, which is charged."""
MONDRIAN: Final = "mondrian"
INCOGNITO: Final = "incognito"
MDAV: Final = "mdav"
ANATOMY: Final = "anatomy"
SAMPLING: Final = "sampling"
CELL_SUPPRESSION: Final = "cell-suppression"
ATTRIBUTE_SUPPRESSION: Final = "attribute-suppression"
RECORD_SUPPRESSION: Final = "record-suppression"
GENERALIZATION: Final = "generalization"
GLOBAL_RECODING: Final = "global-recoding"
TOP_CODING: Final = "top-coding"
BOTTOM_CODING: Final = "bottom-coding"
NOISE_ADDITION: Final = "noise-addition"
PSEUDONYMIZATION: Final = "pseudonymization"

# Purposes
MARKETING: Final = _mosaicrown("marketing")
STATISTICAL: Final = _mosaicrown("statistical")
INSTITUTIONAL: Final = _mosaicrown("institutional")

# Envelopes of data spaces
EDC_POLICY: Final = IRI(EDC + "policy")
EDC_CREATED: Final = IRI(EDC + "createdAt")
