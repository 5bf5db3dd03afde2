"""The payloads of events, and the JSON of commands, as the service promises them.

Generated from the JSON Schemas of the service (/api/schemas/v1/index.json) by generate-payloads.mjs.
Further members may come in every object.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypedDict, Union, final


@final
class LocationA(TypedDict):
    """A place."""

    latitude: float
    """Degrees in WGS 84."""
    longitude: float
    """Degrees in WGS 84."""
    altitude: float
    """Metres."""


@final
class TransmissionA(TypedDict):
    """The channel of a frame."""

    frequency: int
    """Hz."""
    dr: int
    """Index of the data rate in the region."""


class _UplinkReceptionA(TypedDict):
    gatewayID: str
    """The gateway’s id: 16 hexadecimal digits in lower case."""
    uplinkID: str
    """A UUID."""
    name: str
    """The gateway’s name."""
    rssi: int
    """dBm."""
    loRaSNR: float
    """dB."""
    location: LocationA | None


@final
class UplinkReceptionA(_UplinkReceptionA, total=False):
    """The reception of an uplink by one gateway."""

    time: str
    """When the gateway heard the uplink, if the gateway knows the time."""


class _UpEventA(TypedDict):
    applicationID: str
    """The application’s id. Never read it as a number: it may be a UUID."""
    applicationName: str
    """The application’s name."""
    deviceName: str
    """The device’s name."""
    devEUI: str
    """The device’s DevEUI: 16 hexadecimal digits in lower case."""
    deviceProfileName: str
    """Name of the device profile."""
    deviceProfileID: str
    """Id of the device profile."""
    txInfo: TransmissionA
    adr: bool
    """True if the device lets the network choose its data rate."""
    fCnt: int
    """The uplink’s frame counter."""
    fPort: int
    """FPort. 0 has no application data."""
    data: str | None


@final
class UpEventA(_UpEventA, total=False):
    """A device has sent data."""

    tags: Mapping[str, str]
    """The device’s tags. ChirpStack v3 leaves the member out where there are none."""
    rxInfo: Sequence[UplinkReceptionA]
    """One for each gateway. Left out where no gateway is told."""
    object: Any
    """The decoded payload, from the network server or from the application’s codec. Any value of JSON: nearly always an object."""


class _JoinEventA(TypedDict):
    applicationID: str
    """The application’s id. Never read it as a number: it may be a UUID."""
    applicationName: str
    """The application’s name."""
    deviceName: str
    """The device’s name."""
    devEUI: str
    """The device’s DevEUI: 16 hexadecimal digits in lower case."""
    devAddr: str
    """The device’s address: 8 hexadecimal digits in lower case."""
    txInfo: TransmissionA


@final
class JoinEventA(_JoinEventA, total=False):
    """A device has joined the network. Its frame counters begin again."""

    tags: Mapping[str, str]
    """The device’s tags. ChirpStack v3 leaves the member out where there are none."""
    rxInfo: Sequence[UplinkReceptionA]
    """One for each gateway. Left out where no gateway is told."""


class _AckEventA(TypedDict):
    applicationID: str
    """The application’s id. Never read it as a number: it may be a UUID."""
    applicationName: str
    """The application’s name."""
    deviceName: str
    """The device’s name."""
    devEUI: str
    """The device’s DevEUI: 16 hexadecimal digits in lower case."""
    acknowledged: bool
    """True if the device has acknowledged the confirmed downlink."""
    fCnt: int
    """The downlink’s frame counter."""


@final
class AckEventA(_AckEventA, total=False):
    """A device has acknowledged a confirmed downlink, or has not."""

    commandId: str
    """The id of the command that the event is about, where Fieldgate knows it."""
    tags: Mapping[str, str]
    """The device’s tags. ChirpStack v3 leaves the member out where there are none."""


class _ErrorEventA(TypedDict):
    applicationID: str
    """The application’s id. Never read it as a number: it may be a UUID."""
    applicationName: str
    """The application’s name."""
    deviceName: str
    """The device’s name."""
    devEUI: str
    """The device’s DevEUI: 16 hexadecimal digits in lower case."""
    type: Literal["UNKNOWN", "DOWNLINK_PAYLOAD_SIZE", "DOWNLINK_FCNT", "UPLINK_CODEC", "DOWNLINK_CODEC", "OTAA", "UPLINK_FCNT_RESET", "UPLINK_MIC", "UPLINK_FCNT_RETRANSMISSION", "DOWNLINK_GATEWAY"]
    """The kind of fault."""
    error: str
    """A sentence for people."""


@final
class ErrorEventA(_ErrorEventA, total=False):
    """A fault of a device, of a frame, of a codec or of a command."""

    commandId: str
    """The id of the command that the event is about, where Fieldgate knows it."""
    tags: Mapping[str, str]
    """The device’s tags. ChirpStack v3 leaves the member out where there are none."""
    fCnt: int
    """The frame counter of the frame at fault, if there is one and it is not 0."""
    code: str
    """Of a command: the stable code of the page “Errors”."""
    member: str
    """Of a command: the member at fault; empty for the whole."""
    level: Literal["ERROR", "INFO"]
    """Of a command: INFO if somebody has cancelled or replaced the command."""


class _StatusEventA(TypedDict):
    applicationID: str
    """The application’s id. Never read it as a number: it may be a UUID."""
    applicationName: str
    """The application’s name."""
    deviceName: str
    """The device’s name."""
    devEUI: str
    """The device’s DevEUI: 16 hexadecimal digits in lower case."""
    margin: int
    """Demodulation margin of the last status request, dB."""
    externalPowerSource: bool
    """True if the device has external power."""
    batteryLevel: float
    """Percent. 0 where it is not known, and with external power."""
    batteryLevelUnavailable: bool
    """True if the device can’t measure its battery."""


@final
class StatusEventA(_StatusEventA, total=False):
    """A device has told its battery and its margin."""

    tags: Mapping[str, str]
    """The device’s tags. ChirpStack v3 leaves the member out where there are none."""


class _LocationEventA(TypedDict):
    applicationID: str
    """The application’s id. Never read it as a number: it may be a UUID."""
    applicationName: str
    """The application’s name."""
    deviceName: str
    """The device’s name."""
    devEUI: str
    """The device’s DevEUI: 16 hexadecimal digits in lower case."""
    location: LocationA


@final
class LocationEventA(_LocationEventA, total=False):
    """The place of a device was found."""

    tags: Mapping[str, str]
    """The device’s tags. ChirpStack v3 leaves the member out where there are none."""


class _TxackEventA(TypedDict):
    applicationID: str
    """The application’s id. Never read it as a number: it may be a UUID."""
    applicationName: str
    """The application’s name."""
    deviceName: str
    """The device’s name."""
    devEUI: str
    """The device’s DevEUI: 16 hexadecimal digits in lower case."""
    fCnt: int
    """The downlink’s frame counter."""


@final
class TxackEventA(_TxackEventA, total=False):
    """A gateway has sent a downlink."""

    commandId: str
    """The id of the command that the event is about, where Fieldgate knows it."""
    tags: Mapping[str, str]
    """The device’s tags. ChirpStack v3 leaves the member out where there are none."""
    gatewayID: str
    """The gateway’s id. ChirpStack v3.17 does not tell it."""
    txInfo: TransmissionA


class _IntegrationEventA(TypedDict):
    applicationID: str
    """The application’s id. Never read it as a number: it may be a UUID."""
    applicationName: str
    """The application’s name."""
    deviceName: str
    """The device’s name."""
    devEUI: str
    """The device’s DevEUI: 16 hexadecimal digits in lower case."""


@final
class IntegrationEventA(_IntegrationEventA, total=False):
    """A result of an integration of the network server itself."""

    tags: Mapping[str, str]
    """The device’s tags. ChirpStack v3 leaves the member out where there are none."""
    integrationName: str
    """Name of the integration."""
    eventType: str
    """Kind of the integration’s event."""
    object: Any
    """The integration’s result: any value of JSON."""


class _DeviceInfoB(TypedDict):
    tenantId: str
    """The tenant’s id in the network server; empty where it is not known."""
    tenantName: str
    """The tenant’s name in the network server; empty where it is not known."""
    applicationId: str
    """The application’s id. Never read it as a number: it may be a UUID."""
    applicationName: str
    """The application’s name."""
    deviceProfileId: str
    """Id of the device profile; empty where it is not known."""
    deviceProfileName: str
    """Name of the device profile; empty where it is not known."""
    deviceName: str
    """The device’s name."""
    devEui: str
    """The device’s DevEUI: 16 hexadecimal digits in lower case."""
    tags: Mapping[str, str]
    """The device’s tags."""


@final
class DeviceInfoB(_DeviceInfoB, total=False):
    """The device, with its application and its tenant."""

    deviceClassEnabled: Literal["CLASS_A", "CLASS_B", "CLASS_C"]
    """The device’s class, where the network server tells it."""


@final
class LocationB(TypedDict, total=False):
    """A place. A member that is 0 may be left out."""

    latitude: float
    """Degrees in WGS 84."""
    longitude: float
    """Degrees in WGS 84."""
    altitude: float
    """Metres."""
    source: str
    """How the place was found, such as `GPS`."""
    accuracy: float
    """Metres; 0 where it is not known."""


class _LoraModulationB(TypedDict):
    bandwidth: int
    """Hz."""
    spreadingFactor: int
    """From 5 to 12."""


@final
class LoraModulationB(_LoraModulationB, total=False):
    """LoRa modulation."""

    codeRate: str
    """The code rate, like `CR_4_5`."""
    polarizationInversion: bool
    """True for a downlink."""


@final
class ModulationB(TypedDict, total=False):
    """The modulation of a frame. `lora` is missing for FSK and LR-FHSS."""

    lora: LoraModulationB


class _UplinkReceptionB(TypedDict):
    gatewayId: str
    """The gateway’s id: 16 hexadecimal digits, or its name in The Things Stack."""


@final
class UplinkReceptionB(_UplinkReceptionB, total=False):
    """The reception of an uplink by one gateway."""

    uplinkId: int
    """Id of the reception."""
    gwTime: str
    """When the gateway heard the uplink, if the gateway knows the time."""
    nsTime: str
    """When the network server received the uplink."""
    timeSinceGpsEpoch: str
    """Seconds since the GPS epoch, such as `1479383329.720s`."""
    rssi: float
    """dBm."""
    snr: float
    """dB. Left out where it is 0."""
    channel: int
    """Index of the channel. Left out where it is 0."""
    location: LocationB
    context: str
    """The network server’s own."""
    metadata: Mapping[str, str]
    """Further facts of the gateway."""
    crcStatus: str
    """The result of the check sum, like `CRC_OK`."""


class _UplinkTransmissionB(TypedDict):
    frequency: int
    """Hz."""


@final
class UplinkTransmissionB(_UplinkTransmissionB, total=False):
    """How the device has sent the uplink."""

    modulation: ModulationB


class _UpEventB(TypedDict):
    deduplicationId: str
    """A UUID: the same in all events of one uplink."""
    time: str
    """When it happened."""
    deviceInfo: DeviceInfoB
    devAddr: str
    """The device’s address: 8 hexadecimal digits in lower case."""
    fCnt: int
    """The uplink’s frame counter."""
    fPort: int
    """FPort. 0 has no application data."""
    confirmed: bool
    """True if the device asked for an acknowledgement."""
    data: str
    """The decrypted payload; empty for an uplink without a payload."""
    rxInfo: Sequence[UplinkReceptionB]
    """One for each gateway."""
    txInfo: UplinkTransmissionB


@final
class UpEventB(_UpEventB, total=False):
    """A device has sent data."""

    adr: bool
    """True if the device lets the network choose its data rate."""
    dr: int
    """Index of the data rate in the region."""
    object: Any
    """The decoded payload, from the network server or from the application’s codec. Any value of JSON: nearly always an object."""
    normalized: Sequence[Mapping[str, Any]]
    """Measurements in the units of The Things Stack’s normalized payload, where a payload formatter gives them."""
    regionConfigId: str
    """The id of the region’s configuration in ChirpStack, such as `eu868`."""


class _JoinEventB(TypedDict):
    deduplicationId: str
    """A UUID: the same in all events of one uplink."""
    time: str
    """When it happened."""
    deviceInfo: DeviceInfoB
    devAddr: str
    """The device’s address: 8 hexadecimal digits in lower case."""


@final
class JoinEventB(_JoinEventB, total=False):
    """A device has joined the network."""

    regionConfigId: str
    """The id of the region’s configuration in ChirpStack, such as `eu868`."""


class _AckEventB(TypedDict):
    deduplicationId: str
    """A UUID: the same in all events of one uplink."""
    time: str
    """When it happened."""
    deviceInfo: DeviceInfoB
    queueItemId: str
    """The network server’s id of the downlink; empty for a downlink that another program enqueued."""
    acknowledged: bool
    """True if the device has acknowledged the confirmed downlink."""
    fCntDown: int
    """The downlink’s frame counter."""


@final
class AckEventB(_AckEventB, total=False):
    """A device has acknowledged a confirmed downlink, or has not."""

    commandId: str
    """The id of the command that the event is about, where Fieldgate knows it."""


class _ErrorEventB(TypedDict):
    time: str
    """When it happened."""
    deviceInfo: DeviceInfoB
    level: Literal["INFO", "WARNING", "ERROR"]
    """How grave it is."""
    code: str
    """A code of the network server (such as `UPLINK_CODEC`), or, of a command, the stable code of the page “Errors”."""
    description: str
    """A sentence for people."""
    context: Mapping[str, str]
    """Further facts."""


@final
class ErrorEventB(_ErrorEventB, total=False):
    """A fault of a command, or a copy of a `log` event of the level ERROR."""

    commandId: str
    """The id of the command that the event is about, where Fieldgate knows it."""
    deduplicationId: str
    """A UUID, where the network server tells it."""
    member: str
    """Of a command: the member at fault; empty for the whole."""


@final
class StatusEventB(TypedDict):
    """A device has told its battery and its margin."""

    deduplicationId: str
    """A UUID: the same in all events of one uplink."""
    time: str
    """When it happened."""
    deviceInfo: DeviceInfoB
    margin: int
    """Demodulation margin of the last status request, dB."""
    externalPowerSource: bool
    """True if the device has external power."""
    batteryLevelUnavailable: bool
    """True if the device can’t measure its battery."""
    batteryLevel: float
    """Percent. 0 where it is not known, and with external power."""


@final
class LocationEventB(TypedDict):
    """The place of a device was found."""

    deduplicationId: str
    """A UUID: the same in all events of one uplink."""
    time: str
    """When it happened."""
    deviceInfo: DeviceInfoB
    location: LocationB


class _DownlinkTransmissionB(TypedDict):
    frequency: int
    """Hz."""


@final
class DownlinkTransmissionB(_DownlinkTransmissionB, total=False):
    """How a gateway has sent the downlink."""

    power: int
    """dBm."""
    modulation: ModulationB


class _TxackEventB(TypedDict):
    time: str
    """When it happened."""
    deviceInfo: DeviceInfoB
    queueItemId: str
    """The network server’s id of the downlink; empty for a downlink that another program enqueued."""
    fCntDown: int
    """The downlink’s frame counter."""


@final
class TxackEventB(_TxackEventB, total=False):
    """A gateway has sent a downlink."""

    commandId: str
    """The id of the command that the event is about, where Fieldgate knows it."""
    deduplicationId: str
    """A UUID, where the network server tells it."""
    downlinkId: int
    """Id of the frame."""
    gatewayId: str
    """The gateway that has sent the downlink."""
    txInfo: DownlinkTransmissionB


class _LogEventB(TypedDict):
    time: str
    """When it happened."""
    deviceInfo: DeviceInfoB
    level: Literal["INFO", "WARNING", "ERROR"]
    """How grave it is."""
    code: str
    """A code of the network server (such as `UPLINK_CODEC`), or, of a command, the stable code of the page “Errors”."""
    description: str
    """A sentence for people."""
    context: Mapping[str, str]
    """Further facts."""


@final
class LogEventB(_LogEventB, total=False):
    """The network server tells of a fault or of an event of a device. The level ERROR comes on `error` as well."""

    commandId: str
    """The id of the command that the event is about, where Fieldgate knows it."""
    deduplicationId: str
    """A UUID, where the network server tells it."""
    member: str
    """Of a command: the member at fault; empty for the whole."""


class _IntegrationEventB(TypedDict):
    deduplicationId: str
    """A UUID: the same in all events of one uplink."""
    time: str
    """When it happened."""
    deviceInfo: DeviceInfoB
    integrationName: str
    """Name of the integration."""
    eventType: str
    """Kind of the integration’s event."""


@final
class IntegrationEventB(_IntegrationEventB, total=False):
    """A result of an integration of the network server itself."""

    object: Any
    """The integration’s result: any value of JSON."""


@final
class AirMeasurement(TypedDict, total=False):
    """Measurements in the air."""

    temperature: float
    """Degrees Celsius."""
    relativeHumidity: float
    """Percent."""
    pressure: float
    """Atmospheric pressure, hPa."""
    co2: float
    """Carbon dioxide, ppm."""
    lightIntensity: float
    """Lux."""


@final
class Measurement(TypedDict, total=False):
    """One measurement, in the units of The Things Stack’s normalized payload."""

    time: str
    """When it was measured; otherwise the time of the event."""
    soil: SoilMeasurement
    air: AirMeasurement
    wind: WindMeasurement


class _NormalizedPlace(TypedDict):
    latitude: float
    """Degrees in WGS 84."""
    longitude: float
    """Degrees in WGS 84."""
    altitude: float
    """Metres."""


@final
class NormalizedPlace(_NormalizedPlace, total=False):
    """A place."""

    source: str
    """How the place was found, such as `GPS`."""
    accuracy: float
    """Metres; 0 where it is not known."""


class _NormalizedReception(TypedDict):
    gatewayId: str
    """The gateway’s EUI in lower case, or its name in The Things Stack."""
    gatewayName: str
    """The gateway’s name; empty where it is not known."""
    rssi: float
    """dBm."""
    snr: float
    """dB."""


@final
class NormalizedReception(_NormalizedReception, total=False):
    """The reception of an uplink by one gateway."""

    uplinkId: str
    """A UUID of the reception."""
    time: str
    """When the gateway heard the uplink, if the gateway knows the time."""
    channel: int
    """Index of the channel."""
    location: NormalizedPlace


class _NormalizedTransmission(TypedDict):
    frequency: int
    """Hz."""


@final
class NormalizedTransmission(_NormalizedTransmission, total=False):
    """How a frame was sent."""

    dr: int
    """Index of the data rate in the region."""
    bandwidth: int
    """Hz."""
    spreadingFactor: int
    """From 5 to 12."""
    codeRate: str
    """The code rate, like `CR_4_5`."""
    power: float
    """dBm."""


@final
class SoilMeasurement(TypedDict, total=False):
    """Measurements in the soil."""

    depth: float
    """Depth below the surface, cm."""
    moisture: float
    """Percent."""
    temperature: float
    """Degrees Celsius."""
    ec: float
    """Electrical conductivity, dS/m."""
    pH: float
    """The pH value."""
    n: float
    """Nitrogen, ppm."""
    p: float
    """Phosphorus, ppm."""
    k: float
    """Potassium, ppm."""


@final
class WindMeasurement(TypedDict, total=False):
    """Measurements of the wind."""

    speed: float
    """Metres in a second."""
    direction: float
    """Degrees."""


class _NormalizedUpEvent(TypedDict):
    shape: Literal["NORMALIZED"]
    """Only events of this shape have the member."""
    kind: Literal["up"]
    """The kind of the event, as in its topic."""
    deduplicationId: str
    """A UUID: the same when the event comes again."""
    time: str
    """When it happened; if the network server tells no time, when the event came in."""
    applicationId: str
    """The application’s id, as in the topic. Never read it as a number."""
    applicationName: str
    """The application’s name in the network server."""
    devEui: str
    """The device’s DevEUI: 16 hexadecimal digits in lower case."""
    deviceName: str
    """The device’s name in the network server."""
    deviceProfileId: str
    """Id of the device profile; empty where it is not known."""
    deviceProfileName: str
    """Name of the device profile; empty where it is not known."""
    tenantId: str
    """The tenant’s id in the network server; empty where it is not known."""
    tenantName: str
    """The tenant’s name in the network server; empty where it is not known."""
    tags: Mapping[str, str]
    """The device’s tags."""
    fCnt: int
    """The uplink’s frame counter."""
    fPort: int
    """FPort. 0 has no application data."""
    data: str
    """The decrypted payload; empty for an uplink without a payload."""
    rxInfo: Sequence[NormalizedReception]
    """One for each gateway."""
    txInfo: NormalizedTransmission


@final
class NormalizedUpEvent(_NormalizedUpEvent, total=False):
    """A device has sent data."""

    commandId: str
    """The id of the command that the event is about, where Fieldgate knows it."""
    deviceClass: str
    """CLASS_A, CLASS_B or CLASS_C, where it is known."""
    devAddr: str
    """The device’s address: 8 hexadecimal digits in lower case."""
    adr: bool
    """True if the device lets the network choose its data rate."""
    confirmed: bool
    """True if the device asked for an acknowledgement."""
    object: Any
    """The decoded payload, from the network server or from the application’s codec. Any value of JSON: nearly always an object."""
    normalized: Sequence[Measurement]
    """The measurements, where a payload codec gives them."""


class _NormalizedJoinEvent(TypedDict):
    shape: Literal["NORMALIZED"]
    """Only events of this shape have the member."""
    kind: Literal["join"]
    """The kind of the event, as in its topic."""
    deduplicationId: str
    """A UUID: the same when the event comes again."""
    time: str
    """When it happened; if the network server tells no time, when the event came in."""
    applicationId: str
    """The application’s id, as in the topic. Never read it as a number."""
    applicationName: str
    """The application’s name in the network server."""
    devEui: str
    """The device’s DevEUI: 16 hexadecimal digits in lower case."""
    deviceName: str
    """The device’s name in the network server."""
    deviceProfileId: str
    """Id of the device profile; empty where it is not known."""
    deviceProfileName: str
    """Name of the device profile; empty where it is not known."""
    tenantId: str
    """The tenant’s id in the network server; empty where it is not known."""
    tenantName: str
    """The tenant’s name in the network server; empty where it is not known."""
    tags: Mapping[str, str]
    """The device’s tags."""


@final
class NormalizedJoinEvent(_NormalizedJoinEvent, total=False):
    """A device has joined the network."""

    commandId: str
    """The id of the command that the event is about, where Fieldgate knows it."""
    deviceClass: str
    """CLASS_A, CLASS_B or CLASS_C, where it is known."""
    devAddr: str
    """The device’s address: 8 hexadecimal digits in lower case."""
    rxInfo: Sequence[NormalizedReception]
    """One for each gateway, where they are told."""
    txInfo: NormalizedTransmission


class _NormalizedAckEvent(TypedDict):
    shape: Literal["NORMALIZED"]
    """Only events of this shape have the member."""
    kind: Literal["ack"]
    """The kind of the event, as in its topic."""
    deduplicationId: str
    """A UUID: the same when the event comes again."""
    time: str
    """When it happened; if the network server tells no time, when the event came in."""
    applicationId: str
    """The application’s id, as in the topic. Never read it as a number."""
    applicationName: str
    """The application’s name in the network server."""
    devEui: str
    """The device’s DevEUI: 16 hexadecimal digits in lower case."""
    deviceName: str
    """The device’s name in the network server."""
    deviceProfileId: str
    """Id of the device profile; empty where it is not known."""
    deviceProfileName: str
    """Name of the device profile; empty where it is not known."""
    tenantId: str
    """The tenant’s id in the network server; empty where it is not known."""
    tenantName: str
    """The tenant’s name in the network server; empty where it is not known."""
    tags: Mapping[str, str]
    """The device’s tags."""
    queueItemId: str
    """The network server’s id of the downlink; empty where it tells none."""
    acknowledged: bool
    """True if the device has acknowledged the confirmed downlink."""
    fCnt: int
    """The downlink’s frame counter."""


@final
class NormalizedAckEvent(_NormalizedAckEvent, total=False):
    """A device has acknowledged a confirmed downlink, or has not."""

    commandId: str
    """The id of the command that the event is about, where Fieldgate knows it."""
    deviceClass: str
    """CLASS_A, CLASS_B or CLASS_C, where it is known."""


class _NormalizedErrorEvent(TypedDict):
    shape: Literal["NORMALIZED"]
    """Only events of this shape have the member."""
    kind: Literal["error"]
    """The kind of the event, as in its topic."""
    deduplicationId: str
    """A UUID: the same when the event comes again."""
    time: str
    """When it happened; if the network server tells no time, when the event came in."""
    applicationId: str
    """The application’s id, as in the topic. Never read it as a number."""
    applicationName: str
    """The application’s name in the network server."""
    devEui: str
    """The device’s DevEUI: 16 hexadecimal digits in lower case."""
    deviceName: str
    """The device’s name in the network server."""
    deviceProfileId: str
    """Id of the device profile; empty where it is not known."""
    deviceProfileName: str
    """Name of the device profile; empty where it is not known."""
    tenantId: str
    """The tenant’s id in the network server; empty where it is not known."""
    tenantName: str
    """The tenant’s name in the network server; empty where it is not known."""
    tags: Mapping[str, str]
    """The device’s tags."""
    level: str
    """INFO, WARNING or ERROR."""
    code: str
    """A code of ChirpStack v4, or, of a command, the stable code of the page “Errors”."""
    message: str
    """A sentence for people."""
    context: Mapping[str, str]
    """Further facts."""


@final
class NormalizedErrorEvent(_NormalizedErrorEvent, total=False):
    """A fault of a device, of a frame, of a codec or of a command."""

    commandId: str
    """The id of the command that the event is about, where Fieldgate knows it."""
    deviceClass: str
    """CLASS_A, CLASS_B or CLASS_C, where it is known."""
    fCnt: int
    """The counter of the frame at fault, where it is known."""
    member: str
    """Of a command: the member at fault; empty for the whole."""


class _NormalizedStatusEvent(TypedDict):
    shape: Literal["NORMALIZED"]
    """Only events of this shape have the member."""
    kind: Literal["status"]
    """The kind of the event, as in its topic."""
    deduplicationId: str
    """A UUID: the same when the event comes again."""
    time: str
    """When it happened; if the network server tells no time, when the event came in."""
    applicationId: str
    """The application’s id, as in the topic. Never read it as a number."""
    applicationName: str
    """The application’s name in the network server."""
    devEui: str
    """The device’s DevEUI: 16 hexadecimal digits in lower case."""
    deviceName: str
    """The device’s name in the network server."""
    deviceProfileId: str
    """Id of the device profile; empty where it is not known."""
    deviceProfileName: str
    """Name of the device profile; empty where it is not known."""
    tenantId: str
    """The tenant’s id in the network server; empty where it is not known."""
    tenantName: str
    """The tenant’s name in the network server; empty where it is not known."""
    tags: Mapping[str, str]
    """The device’s tags."""
    margin: int
    """Demodulation margin of the last status request, dB."""
    externalPowerSource: bool
    """True if the device has external power."""
    batteryLevelUnavailable: bool
    """True if the device can’t measure its battery."""
    batteryLevel: float
    """Percent. 0 where it is not known, and with external power."""


@final
class NormalizedStatusEvent(_NormalizedStatusEvent, total=False):
    """A device has told its battery and its margin."""

    commandId: str
    """The id of the command that the event is about, where Fieldgate knows it."""
    deviceClass: str
    """CLASS_A, CLASS_B or CLASS_C, where it is known."""


class _NormalizedLocationEvent(TypedDict):
    shape: Literal["NORMALIZED"]
    """Only events of this shape have the member."""
    kind: Literal["location"]
    """The kind of the event, as in its topic."""
    deduplicationId: str
    """A UUID: the same when the event comes again."""
    time: str
    """When it happened; if the network server tells no time, when the event came in."""
    applicationId: str
    """The application’s id, as in the topic. Never read it as a number."""
    applicationName: str
    """The application’s name in the network server."""
    devEui: str
    """The device’s DevEUI: 16 hexadecimal digits in lower case."""
    deviceName: str
    """The device’s name in the network server."""
    deviceProfileId: str
    """Id of the device profile; empty where it is not known."""
    deviceProfileName: str
    """Name of the device profile; empty where it is not known."""
    tenantId: str
    """The tenant’s id in the network server; empty where it is not known."""
    tenantName: str
    """The tenant’s name in the network server; empty where it is not known."""
    tags: Mapping[str, str]
    """The device’s tags."""
    location: NormalizedPlace


@final
class NormalizedLocationEvent(_NormalizedLocationEvent, total=False):
    """The place of a device was found."""

    commandId: str
    """The id of the command that the event is about, where Fieldgate knows it."""
    deviceClass: str
    """CLASS_A, CLASS_B or CLASS_C, where it is known."""


class _NormalizedTxackEvent(TypedDict):
    shape: Literal["NORMALIZED"]
    """Only events of this shape have the member."""
    kind: Literal["txack"]
    """The kind of the event, as in its topic."""
    deduplicationId: str
    """A UUID: the same when the event comes again."""
    time: str
    """When it happened; if the network server tells no time, when the event came in."""
    applicationId: str
    """The application’s id, as in the topic. Never read it as a number."""
    applicationName: str
    """The application’s name in the network server."""
    devEui: str
    """The device’s DevEUI: 16 hexadecimal digits in lower case."""
    deviceName: str
    """The device’s name in the network server."""
    deviceProfileId: str
    """Id of the device profile; empty where it is not known."""
    deviceProfileName: str
    """Name of the device profile; empty where it is not known."""
    tenantId: str
    """The tenant’s id in the network server; empty where it is not known."""
    tenantName: str
    """The tenant’s name in the network server; empty where it is not known."""
    tags: Mapping[str, str]
    """The device’s tags."""
    queueItemId: str
    """The network server’s id of the downlink; empty where it tells none."""
    fCnt: int
    """The downlink’s frame counter."""


@final
class NormalizedTxackEvent(_NormalizedTxackEvent, total=False):
    """A gateway has sent a downlink."""

    commandId: str
    """The id of the command that the event is about, where Fieldgate knows it."""
    deviceClass: str
    """CLASS_A, CLASS_B or CLASS_C, where it is known."""
    gatewayId: str
    """The gateway that has sent the downlink."""
    txInfo: NormalizedTransmission


class _NormalizedLogEvent(TypedDict):
    shape: Literal["NORMALIZED"]
    """Only events of this shape have the member."""
    kind: Literal["log"]
    """The kind of the event, as in its topic."""
    deduplicationId: str
    """A UUID: the same when the event comes again."""
    time: str
    """When it happened; if the network server tells no time, when the event came in."""
    applicationId: str
    """The application’s id, as in the topic. Never read it as a number."""
    applicationName: str
    """The application’s name in the network server."""
    devEui: str
    """The device’s DevEUI: 16 hexadecimal digits in lower case."""
    deviceName: str
    """The device’s name in the network server."""
    deviceProfileId: str
    """Id of the device profile; empty where it is not known."""
    deviceProfileName: str
    """Name of the device profile; empty where it is not known."""
    tenantId: str
    """The tenant’s id in the network server; empty where it is not known."""
    tenantName: str
    """The tenant’s name in the network server; empty where it is not known."""
    tags: Mapping[str, str]
    """The device’s tags."""
    level: str
    """INFO, WARNING or ERROR."""
    code: str
    """A code of ChirpStack v4, or, of a command, the stable code of the page “Errors”."""
    message: str
    """A sentence for people."""
    context: Mapping[str, str]
    """Further facts."""


@final
class NormalizedLogEvent(_NormalizedLogEvent, total=False):
    """The network server tells of a fault or of an event of a device."""

    commandId: str
    """The id of the command that the event is about, where Fieldgate knows it."""
    deviceClass: str
    """CLASS_A, CLASS_B or CLASS_C, where it is known."""
    fCnt: int
    """The counter of the frame at fault, where it is known."""
    member: str
    """Of a command: the member at fault; empty for the whole."""


class _NormalizedIntegrationEvent(TypedDict):
    shape: Literal["NORMALIZED"]
    """Only events of this shape have the member."""
    kind: Literal["integration"]
    """The kind of the event, as in its topic."""
    deduplicationId: str
    """A UUID: the same when the event comes again."""
    time: str
    """When it happened; if the network server tells no time, when the event came in."""
    applicationId: str
    """The application’s id, as in the topic. Never read it as a number."""
    applicationName: str
    """The application’s name in the network server."""
    devEui: str
    """The device’s DevEUI: 16 hexadecimal digits in lower case."""
    deviceName: str
    """The device’s name in the network server."""
    deviceProfileId: str
    """Id of the device profile; empty where it is not known."""
    deviceProfileName: str
    """Name of the device profile; empty where it is not known."""
    tenantId: str
    """The tenant’s id in the network server; empty where it is not known."""
    tenantName: str
    """The tenant’s name in the network server; empty where it is not known."""
    tags: Mapping[str, str]
    """The device’s tags."""
    integrationName: str
    """Name of the integration; empty where it is not known."""
    eventType: str
    """Kind of the integration’s event; empty where it is not known."""


@final
class NormalizedIntegrationEvent(_NormalizedIntegrationEvent, total=False):
    """A result of an integration of the network server itself."""

    commandId: str
    """The id of the command that the event is about, where Fieldgate knows it."""
    deviceClass: str
    """CLASS_A, CLASS_B or CLASS_C, where it is known."""
    object: Any
    """The integration’s result: any value of JSON."""


@final
class StateEvent(TypedDict):
    """The state of a device has changed, or one of its flags. The service publishes it, not a network server."""

    time: str
    """When the event was made."""
    applicationID: str
    """The application’s id. Never read it as a number: it may be a UUID."""
    devEUI: str
    """The device’s DevEUI: 16 hexadecimal digits in lower case."""
    deviceName: str
    """The device’s name."""
    state: Literal["ON_TIME", "LATE", "SILENT", "NEVER_HEARD"]
    """How the device is heard, by its interval."""
    stateSince: str | None
    lowBattery: bool
    """The battery is nearly empty."""
    weakSignal: bool
    """The signal is hardly better than what its spreading factor needs."""
    losingFrames: bool
    """Many uplinks do not arrive."""
    lastSeenAt: str | None
    intervalSeconds: float | None
    """The time between two uplinks, in seconds; null when it is not known."""
    lossPercent: float | None
    """Uplinks that did not arrive, by the frame counter; null when it is not known."""
    batteryLevel: float | None
    """Percent; null when it is not known."""
    rssi: float | None
    """dBm, at the gateway that heard the device best; null when it is not known."""
    snr: float | None
    """dB, at the same gateway; null when it is not known."""


class _CommandWithData(TypedDict):
    confirmed: bool
    """True: the device must acknowledge the command."""
    fPort: int
    """The port on the device."""
    data: str
    """At most 242 bytes in base64 (RFC 4648 §4, padding may be left out), in plaintext."""


@final
class CommandWithData(_CommandWithData, total=False):
    """A command with the bytes for the device."""

    object: Mapping[str, Any]
    """The input of the application’s codec. It wins over `data` where there is a codec."""
    id: str
    """The sender’s id of the command. The service makes a UUID where it is missing."""
    expiresAt: str
    """After this time the command is not handed over any more."""
    priority: int
    """The highest goes first; 0 where it is missing."""
    replace: bool
    """True: cancels all commands that wait for the device."""
    devEui: str
    """Must be the device of the topic."""


class _CommandWithObject(TypedDict):
    confirmed: bool
    """True: the device must acknowledge the command."""
    object: Mapping[str, Any]
    """The input of the application’s codec. It wins over `data` where there is a codec."""


@final
class CommandWithObject(_CommandWithObject, total=False):
    """A command with an object for the application’s codec."""

    fPort: int
    """The port on the device."""
    data: str
    """At most 242 bytes in base64 (RFC 4648 §4, padding may be left out), in plaintext."""
    id: str
    """The sender’s id of the command. The service makes a UUID where it is missing."""
    expiresAt: str
    """After this time the command is not handed over any more."""
    priority: int
    """The highest goes first; 0 where it is missing."""
    replace: bool
    """True: cancels all commands that wait for the device."""
    devEui: str
    """Must be the device of the topic."""


Command = Union[CommandWithData, CommandWithObject]
"""A downlink command for one device. At least one of `data` and `object` must be there."""


class _CommandAccepted(TypedDict):
    applicationId: str
    """The application’s id."""
    devEui: str
    """The device’s DevEUI: 16 hexadecimal digits in lower case."""
    id: str
    """The command’s id."""
    accepted: Literal[True]
    state: Literal["queued", "sent", "acknowledged", "not_acknowledged", "unconfirmed", "failed", "expired", "cancelled"]
    """The command’s state. Only a repeated command has another one than `queued`."""
    repeated: bool
    """True if the service has the command already, by its id."""


@final
class CommandAccepted(_CommandAccepted, total=False):
    """The command is in the queue."""

    warnings: Sequence[str]
    """What the codec has to say about the object."""


@final
class CommandRefused(TypedDict):
    """The command is refused, and nothing will be sent."""

    applicationId: str
    """The application’s id."""
    devEui: str
    """The device’s DevEUI: 16 hexadecimal digits in lower case."""
    id: str
    """The command’s id; empty where it could not be read."""
    accepted: Literal[False]
    code: str
    """The stable code of the page “Errors”."""
    member: str
    """The member at fault; empty for the whole."""
    error: str
    """A sentence for people."""


CommandAnswer = Union[CommandAccepted, CommandRefused]
"""The answer to a command, on its Response Topic. `accepted` tells the two shapes apart."""


@final
class MissedNotice(TypedDict):
    """The Session has missed messages, because it was away for longer than they are kept."""

    missedAtMost: int
    """So many messages that could have been for this Session are gone, at most."""
    time: str
    """When it was noticed."""


@final
class TokenExpiresNotice(TypedDict):
    """The token of the connection ends soon. Renew it by AUTH, or connect again with a new token."""

    expiresAt: str
    """When the token ends, and the connection with it."""
    secondsLeft: int
    """Whole seconds until then, when the notice was made."""
