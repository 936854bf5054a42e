"""The words of certificates and of reports of audits: what we say of outputs, and no policy can say.

`profile.ttl` is written from this table, and every word of ours that a certificate uses stands here or
among the words of policies; a test holds the two against each other.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

CERTIFICATE_CLASSES: Final[Mapping[str, str]] = MappingProxyType({
    "Model": "a model that was trained on data, as an output",
})  # fmt: skip
"""By name, what is one."""

CERTIFICATE_TERMS: Final[Mapping[str, str]] = MappingProxyType({
    "guarantee": "what is promised of an output",
    "kind": "what a run made: `anonymization`, `release`, `perturbation` or `training`",
    "model": "the privacy model of a guarantee, by its name",
    "promisedK": "the k of k-anonymity",
    "promisedL": "the l of l-diversity",
    "quasiIdentifierName": "a column that was generalised",
    "sensitiveName": "a column that was kept under the guarantee",
    "releasedName": "a column that was kept outside of the guarantee, on the word of the policy's author",
    "respondents": "who counts as one respondent, in words",
    "doesNotProtectAgainst": "what a guarantee leaves open, in words",
    "rule": "the rule of a policy under which it was done",
    "softwareVersion": "the version of the program",
    "signature": "whether and by whom a certificate is signed",
    # Of releases with noise, perturbed tables and models
    "promisedEpsilon": "the epsilon of differential privacy",
    "promisedDelta": "the delta of differential privacy",
    "promisedPosteriorBelief": "what the adversary of differential privacy believes of one respondent at"
    " most, who believed one half before",
    "promisedMembershipAdvantage": "how much more often that adversary is right than wrong, at most",
    "promisedNeighbors": "which data sets are neighbours",
    "promisedRowsPerRespondent": "how many rows of one respondent take part at most",
    "promisedGroupsPerRespondent": "how many groups rows of one respondent take part in at most",
    "measurement": "a quantity that was measured with noise",
    "quantity": "what was measured",
    "usedMechanism": "the mechanism that drew the noise",
    "noiseScaleUsed": "the scale of the noise",
    "composition": "what all releases about the same respondents lose together, within one registry",
    "numberOfReleases": "how many releases were counted",
    "perturbedColumn": "a column of which each respondent gave a noisy report",
    "publicValue": "a value that is public of a column",
    "hasMissingCategory": "whether what is missing is a category of its own",
    "changeProbability": "with which probability a report says something else than the value",
    "lowerBound": "the public lower bound of numbers",
    "upperBound": "the public upper bound of numbers",
    "unit": "what numbers are counted in",
    "promisedEpsilonOfWholeImages": "the epsilon of whole images, and not of what is near in them",
    "imageHeight": "the height of images in pixels",
    "imageWidth": "the width of images in pixels",
    "usedPixelSize": "the side of the squares that became one pixel each",
    "promisedPixelNeighborhood": "in how many pixels neighbouring images differ at most",
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
    "figureAtMost": "how large a figure may be",
    "atFalsePositiveRate": "the false positive rate at which a figure is bounded",
    "auditConfidence": "the confidence of all limits of all attempts together",
    "shadowModels": "the number of shadow models",
    "randomness": "where the randomness of a training came from, where it was no source fit for a release",
    "auditState": "what became of an attempt",
    "generalisedColumn": "a published column whose values were generalised, with the form of its labels",
    "labelForm": "how a generalised column is written: as ranges, or as sets of exact values",
    "auditAttempt": "the number of an attempt at models of the same data",
    "errorProbability": "the probability that a limit is on the wrong side",
    "trainAccuracy": "the share of records that a model predicts right, of those that it was trained on",
    "testAccuracy": "the share of records that a model predicts right, of those that were held out",
    "attackResult": "what one attack achieved",
    "auditedMembers": "the number of attacked members; of repeated trainings, of those with the record",
    "auditedNonMembers": "the number of attacked others; of repeated trainings, of those without it",
    "areaUnderCurve": "the area under the ROC curve",
    "plantedLeakFound": "whether the attack found the leak of a model that is known to memorise",
    "plantedLeakAdvantage": "the least advantage that the attack has on that model, at the confidence",
    "confidenceLimit": "the limit of a figure that is compared with its bound",
    "boundMethod": "the method by which a lower bound of epsilon was found",
    "attackDetail": "what is shown beside, and decides nothing",
    "detailName": "what a detail is called",
    "lowerConfidenceLimit": "the lower confidence limit of a detail",
    "upperConfidenceLimit": "the upper confidence limit of a detail",
})  # fmt: skip
"""By name, what a property says."""
