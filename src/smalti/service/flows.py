"""Data flows: an agreement becomes a job of its owner, whose output one consumer may download.

Experimental. A flow does nothing that its control plane's party could not do by itself: the party owns all
of the target, issued the policy that the agreement names, and orders the job for the consumer. Whether the
policy permits it to the consumer, the job decides, and each download again.
"""

import json
import logging
import shutil
import threading
import uuid
from datetime import timedelta
from pathlib import Path
from typing import Final
from urllib.parse import quote

from smalti.engine.jobs import queue
from smalti.engine.registry.access import AccessEntry, Role
from smalti.engine.registry.data_flows import FlowState, StoredFlow
from smalti.engine.registry.entries import TargetVersion
from smalti.engine.registry.job_entries import StoredJob
from smalti.engine.tables.sending import is_plain_address, post
from smalti.errors import BackendError, SmaltiError, UsageError
from smalti.json.text import Json
from smalti.service.configuration import ControlPlane
from smalti.service.problems import RefusedError
from smalti.service.state import Service
from smalti.vocab.terms import IRI, SMALTI

PULL: Final = "https://w3id.org/dspace-sig/profile/http-pull"
"""The one profile: the consumer fetches (HTTP Transfer Profile of Data Plane Signaling)."""
FILE: Final = f"{SMALTI}file"
"""The property of an address that names each file, where an output has several."""
CALLS: Final = 6
"""How often a control plane is told at most."""
_FIRST_PAUSE: Final = timedelta(seconds=2)
"""Between the first two; each further pause is four times as long."""
_TURN_SECONDS: Final = 1.0
_LOG: Final = logging.getLogger("smalti.service")
_RECIPIENT: Final = frozenset({Role.RECIPIENT})


def control_plane_of(service: Service, party: IRI) -> ControlPlane:
    """How the control plane of a party is told.

    Raises:
        RefusedError: it is not configured.
    """
    for plane in service.configuration.control_planes:
        if plane.party == party:
            return plane
    raise RefusedError(409, "conflict", "no address is configured for callbacks to this control plane")


def callback_of(plane: ControlPlane, stated: str | None) -> str:
    """Where a control plane is told: at the configured address, or at one below it that a message states.

    Raises:
        RefusedError: what is stated is not below it; nothing is ever sent there.
    """
    if stated is None:
        return plane.address
    address = stated.rstrip("/")
    is_below = address == plane.address or address.startswith(f"{plane.address}/")
    if not is_below or not is_plain_address(address):
        raise RefusedError(422, "invalid", "`callbackAddress` is not below the configured address")
    return address


def agreed(service: Service, party: IRI, agreement: str, target: IRI) -> tuple[IRI, IRI | None]:
    """The policy in force that an agreement names, or the policy and the rule of it.

    An id without a scheme that is a UUID names `urn:uuid:` and that.

    Raises:
        RefusedError: it names nothing that the party registered about a target that is all its own.
    """
    names, registry = {agreement, *_as_urn(agreement)}, service.registry
    if party in registry.full_owners(target):
        for stored in registry.policies_about(target):
            if stored.issuer != party or stored.policy is None:
                continue
            if stored.uid in names:
                return stored.uid, None
            for rule in stored.policy.rules:
                if rule.uid in names:
                    return stored.uid, rule.uid
    raise RefusedError(
        422, "agreement-not-registered", "name the uid of a policy in force, or of a rule of one"
    )


def _as_urn(name: str) -> list[str]:
    try:
        return [f"urn:uuid:{uuid.UUID(name)}"] if ":" not in name else []
    except ValueError:
        return []


def advanced(service: Service, flow: StoredFlow) -> StoredFlow:
    """A data flow after a look at its job: started once there is an output, terminated if there is none."""
    if flow.state is not FlowState.STARTING or flow.job is None:
        return flow
    job = service.registry.jobs.get(flow.job)
    if job is None or not job.state.is_over:
        return flow
    version, before = _version_of(service, flow), [FlowState.STARTING]
    if version is not None:
        moved = service.registry.flows.move(
            flow.key, before, FlowState.STARTED, {"run": version.run, "call": "started"}
        )
    else:
        moved = service.registry.flows.move(
            flow.key, before, FlowState.TERMINATED, {"error": _without_output(job), "call": "errored"}
        )
    return moved or service.registry.flows.get(flow.party, flow.id) or flow


def _version_of(service: Service, flow: StoredFlow) -> TargetVersion | None:
    for version in service.registry.outputs.all():
        if version.path == flow.out and version.party == flow.counterparty:
            return version
    return None


def _without_output(job: StoredJob) -> str:
    if job.result is not None and job.result.exit_code == 1 and not job.reason:
        return "the policy does not permit it to the counterparty"
    return f"the job {job.id} ended without an output ({job.state})"


def address_of(service: Service, flow: StoredFlow) -> Json:
    """The address of a started flow's output, with a new key of its consumer for this flow alone.

    The last key before it stays in force, since an answer with it may be under way; earlier ones end.
    """
    version = _version_of(service, flow)
    if version is None:
        raise RefusedError(409, "conflict", "the output of this data flow is no longer recorded")
    for entry in _keys_of(service, flow)[:-1]:
        service.registry.access.revoke(entry.handle)
    key, _ = service.registry.access.add_key(flow.counterparty, _RECIPIENT, flow.key)
    base = f"{service.configuration.public_address}/v1/versions/{version.run}/files/"
    places = [base + quote(file.name) for file in version.files]
    properties = [("authorization", key), ("authType", "bearer")]
    properties += [(FILE, place) for place in places] if len(places) > 1 else []
    return {
        "@type": "DataAddress",
        "endpointType": PULL,
        "endpoint": places[0],
        "endpointProperties": [{"name": name, "value": value} for name, value in properties],
    }


def close(service: Service, flow: StoredFlow) -> None:
    """End what a flow that is over had: its job, and the keys of its consumer."""
    if flow.job is not None:
        job = service.registry.jobs.get(flow.job)
        if job is not None and not job.state.is_over:
            try:
                queue.stop(service.registry, flow.job)
            except UsageError:
                _LOG.debug("the job of a data flow ended by itself")
    for entry in _keys_of(service, flow):
        service.registry.access.revoke(entry.handle)


def _keys_of(service: Service, flow: StoredFlow) -> list[AccessEntry]:
    """The keys in force of a flow's consumer, as they were added."""
    listed = service.registry.access.listed()
    keys = [
        each for each in listed if each.is_in_force and each.roles == _RECIPIENT and each.label == flow.key
    ]
    return sorted(keys, key=lambda entry: entry.added_at)


def remove(folder: Path) -> None:
    """Remove the folder of a job that was not ordered."""
    shutil.rmtree(folder, ignore_errors=True)


# --- Telling control planes


def tend(service: Service) -> None:
    """Look once at the jobs of all flows, and tell control planes what is due."""
    for flow in service.registry.flows.starting():
        advanced(service, flow)
    for flow in service.registry.flows.due():
        if service.registry.flows.take_call(flow, _FIRST_PAUSE * 4**flow.calls):
            _tell(service, flow)


def tend_until(service: Service, is_over: threading.Event) -> None:
    """Do so again and again; what goes wrong is logged."""
    while not is_over.wait(_TURN_SECONDS):
        try:
            tend(service)
        except SmaltiError as error:
            _LOG.error("data flows: %s", error)
        except Exception as error:
            _LOG.error("data flows: %s", type(error).__name__)


def _tell(service: Service, flow: StoredFlow) -> None:
    flows = service.registry.flows
    try:
        plane = control_plane_of(service, flow.party)
        place = (
            f"{callback_of(plane, flow.callback)}/transfers/{quote(flow.id, safe='')}/dataflow/{flow.call}"
        )
        post(place, json.dumps(_message(service, flow)).encode(), _authorization(plane))
    except RefusedError as error:
        _LOG.warning("data flow %s: its control plane is not told: %s", flow.key, error.detail)
        flows.end_call(flow)
    except (BackendError, OSError) as error:
        is_last = flow.calls + 1 >= CALLS
        problem = error.problem if isinstance(error, BackendError) else "its key cannot be read"
        word = "nobody tries again" if is_last else "trying again"
        _LOG.warning("data flow %s: its control plane was not told: %s; %s", flow.key, problem, word)
        if is_last:
            flows.end_call(flow)
    else:
        flows.end_call(flow)


def _message(service: Service, flow: StoredFlow) -> Json:
    is_started = flow.call == "started" and flow.state is FlowState.STARTED
    return status_of(flow) | ({"dataAddress": address_of(service, flow)} if is_started else {})


def status_of(flow: StoredFlow) -> Json:
    """A `DataFlowStatusMessage`."""
    shown = {"messageId": str(uuid.uuid4()), "dataFlowId": flow.id, "state": flow.state.value}
    return shown | ({"error": flow.error} if flow.error else {})


def _authorization(plane: ControlPlane) -> dict[str, str]:
    if plane.key is None:
        return {}
    return {"Authorization": f"Bearer {plane.key.read_text(encoding='utf-8').strip()}"}
