"""What each column of an export means: the data dictionary."""

from collections.abc import Mapping
from types import MappingProxyType

VARIABLES: Mapping[str, str] = MappingProxyType(
    {
        "participant": "A random name for a person; it says nothing about who they are.",
        "mode": "live for people, test for trying out, simulated for simulated people, preview for researchers.",
        "order": "Which trial of the person's phase it was, from 1.",
        "trial": "The trial's random name.",
        "practice": "1 for a practice trial, without explanations; 0 otherwise.",
        "attention": "1 for a trial whose answer should be obvious, to see whether the person attends; 0 otherwise.",
        "target": "The label that the classifier chose.",
        "alternative": "The other option.",
        "category": "The ground truth of the picture.",
        "trial_type": "standard_correct, standard_incorrect or adversarial_incorrect.",
        "arm": "The condition that the person was allocated to.",
        "left": "The option that stood on the left.",
        "right": "The option that stood on the right.",
        "side": "The side that the person chose.",
        "choice": "The option that the person chose.",
        "correct": "1 if the person chose what the classifier chose, else 0.",
        "rt": "From the moment when all pictures were painted to the answer.",
        "by": "key or pointer.",
        "resumed": "1 if the person had come back to the study before this answer, after a reload or a break of the connection.",
        "viewport_width": "Width of the browser's window, in CSS pixels.",
        "viewport_height": "Height of the browser's window, in CSS pixels.",
        "pixel_ratio": "Device pixels in a CSS pixel.",
        "load_ms": "How long the trial's pictures took to load.",
        "hidden_ms": "How long the window was hidden during the trial.",
        "platform": "Where the person came from: prolific, sona, mturk, lab or direct.",
        "completed": "1 if the person answered all their trials, else 0.",
        "ending": "How the session ended: complete, screened_out; empty if it did not.",
        "answered": "How many trials the person answered.",
        "comprehension_failed": "How often the questions about the instructions were answered wrongly.",
        "consent": "The version of the consent text: the start of its SHA-256.",
        "started": "The day of consent, in UTC.",
        "minutes": "From consent to the last trial.",
        "kind": "trial, practice or attention.",
        "design_trial": "The trial's name in the design's tables.",
        "probe": "The digest of the picture that was asked about.",
        "source": "The source of images that the picture came from.",
        "confidence": "The classifier's probability of its answer.",
        "prior": "The learner's probability of the target before the lesson.",
        "posterior": "The learner's probability of the target after the lesson.",
        "taught": "What the lesson taught: log odds of the target after it less those before.",
        "effective_samples": "How many masks of equal weight the probe's saliency map is worth.",
        "map_noise": "Which share of what varies in the map is Monte Carlo error.",
        "map_verdict": "What that and the masks' worth make of the map: converged, rough or noise.",
    }
)
UNITS: Mapping[str, str] = MappingProxyType(
    {
        "rt": "ms",
        "load_ms": "ms",
        "hidden_ms": "ms",
        "minutes": "min",
        "viewport_width": "px",
        "viewport_height": "px",
        "taught": "log odds",
    }
)
