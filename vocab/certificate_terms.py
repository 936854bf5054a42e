"""The words of certificates and audit reports, which describe outputs and are not words of policies.

`profile.ttl` is written from this table. Every word of the profile that a certificate uses is here or among
the words of policies; a test compares the two.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

CERTIFICATE_CLASSES: Final[Mapping[str, str]] = MappingProxyType({
    "Model": "a model that was trained on data, as an output",
})  # fmt: skip
"""By name, the meaning."""

CERTIFICATE_TERMS: Final[Mapping[str, str]] = MappingProxyType({
    "guarantee": "the guarantee of an output",
    "kind": "the kind of a run: `anonymization`, `release`, `perturbation` or `training`",
    "model": "the privacy model of a guarantee, by its name",
    "promisedK": "the k of k-anonymity",
    "promisedL": "the l of l-diversity",
    "promisedRequirement": "a requirement of each class beside k and l, with its name",
    "requirementParameter": "a parameter of such a requirement: a whole number, a fraction or a text",
    "quasiIdentifierName": "a column that was generalised",
    "sensitiveName": "a column that was kept under the guarantee",
    "releasedName": "a column that was published unchanged, without a guarantee, as the policy permits",
    "respondents": "what counts as one respondent, in words",
    "doesNotProtectAgainst": "what a guarantee does not protect against, in words",
    "rule": "the rule of the policy that permitted the run",
    "softwareVersion": "the version of the program",
    "signature": "whether and by whom a certificate is signed",
    # Of releases with noise, perturbed tables and models
    "promisedEpsilon": "the epsilon of differential privacy",
    "promisedDelta": "the delta of differential privacy",
    "promisedPosteriorBelief": "the largest belief of the adversary of differential privacy in one"
    " respondent's presence, one half before",
    "promisedMembershipAdvantage": "the largest membership advantage of that adversary",
    "promisedNeighbors": "the neighbouring relation: which data sets are neighbours",
    "promisedRowsPerRespondent": "the largest number of rows of one respondent",
    "promisedGroupsPerRespondent": "the largest number of groups with rows of one respondent",
    "measurement": "a quantity that was measured with noise",
    "quantity": "the measured quantity",
    "usedMechanism": "the mechanism that drew the noise",
    "noiseScaleUsed": "the scale of the noise",
    "composition": "the total privacy loss of all releases about the same respondents, within one registry",
    "numberOfReleases": "the number of releases in the total",
    "perturbedColumn": "a column that each respondent reported with noise",
    "publicValue": "a public value of a column",
    "hasMissingCategory": "whether missing values are a category",
    "changeProbability": "the probability that a report differs from the value",
    "lowerBound": "the public lower bound of numbers",
    "upperBound": "the public upper bound of numbers",
    "unit": "the unit of numbers",
    "promisedEpsilonOfWholeImages": "the epsilon for whole images, not only for neighbouring pixels",
    "imageHeight": "the height of images in pixels",
    "imageWidth": "the width of images in pixels",
    "usedPixelSize": "the side of the squares that became one pixel each",
    "promisedPixelNeighborhood": "the largest number of pixels in which neighbouring images differ",
    "usedRecipe": "the recipe by which a model was trained",
    "privateTraining": "how noise was added in training",
    "usedNoiseMultiplier": "the standard deviation of the noise, in clipping norms",
    "usedClippingNorm": "the norm to which the gradient of each record was clipped",
    "usedSamplingRate": "the probability with which each record is in a step",
    "numberOfSteps": "the number of steps of a training",
    # Of audits
    "passedAudit": "the audit that a model passed",
    "triedAttack": "an attack that was tried",
    "figureBound": "a bound of a figure",
    "figure": "the figure of an attack, by its name in policies",
    "figureAtMost": "the largest value that a figure may have",
    "atFalsePositiveRate": "the false positive rate at which a figure is bounded",
    "auditConfidence": "the confidence of all limits of all attempts together",
    "shadowModels": "the number of shadow models",
    "randomness": "the source of a training's randomness, where it is not fit for a release",
    "auditState": "the outcome of an attempt",
    "generalisedColumn": "a published column whose values were generalised, with the form of its labels",
    "declaredColumn": "a published column with its datatype, as the description of the data declares it",
    "declaredDatatype": "the datatype of a published column",
    "declaredTimeZone": "the time zone of date-times of a published column that state none",
    "allowedSuppression": "the share of respondents of whom records may have been left out",
    "suppressedRecordsAre": "what became of suppressed records, where they are not left out",
    "populationTable": "the table of all persons against which classes were held",
    "labelForm": "how a generalised column is written: as ranges, sets, nodes, prefixes or figures",
    "auditAttempt": "the number of an attempt at models of the same data",
    "errorProbability": "the probability that a limit is on the wrong side",
    "trainAccuracy": "the share of records that a model predicts right, of those that it was trained on",
    "testAccuracy": "the share of records that a model predicts right, of those that were held out",
    "attackResult": "the result of one attack",
    "auditedMembers": "the number of attacked members; of repeated trainings, of those with the record",
    "auditedNonMembers": "the number of attacked others; of repeated trainings, of those without it",
    "areaUnderCurve": "the area under the ROC curve",
    "plantedLeakFound": "whether the attack found the leak of a model that memorises",
    "plantedLeakAdvantage": "the least advantage that the attack has on that model, at the confidence",
    "confidenceLimit": "the limit of a figure that is compared with its bound",
    "boundMethod": "the method by which a lower bound of epsilon was found",
    "attackDetail": "a figure that is reported, and not compared with a bound",
    "detailName": "the name of a detail",
    "lowerConfidenceLimit": "the lower confidence limit of a detail",
    "upperConfidenceLimit": "the upper confidence limit of a detail",
})  # fmt: skip
"""By name, the meaning of a property."""
