"""Compares our descriptors with the official ones, fact by fact.

usage: compare.py OURS.pb PUBSUB.pb   (both FileDescriptorSets with imports)

A fact is what the wire, the JSON form or a generated API depends on: names,
numbers, types, labels, presence, oneofs, enum values, services, methods,
streaming. Options without such an effect (HTTP bindings, field behaviours,
language packages) and comments are left out.
"""

import copy
import importlib
import sys

from google.protobuf import descriptor_pb2

FILES_FROM_PUBSUB = ["google/pubsub/v1/pubsub.proto", "google/pubsub/v1/schema.proto"]
MODULES = [
    "google.rpc.error_details_pb2",
    "google.rpc.status_pb2",
    "opentelemetry.proto.collector.trace.v1.trace_service_pb2",
    "opentelemetry.proto.common.v1.common_pb2",
    "opentelemetry.proto.resource.v1.resource_pb2",
    "opentelemetry.proto.trace.v1.trace_pb2",
]
Field = descriptor_pb2.FieldDescriptorProto


def json_name(field):
    """protoc's rule; the official Python modules leave the name out when it follows it."""
    if field.json_name:
        return field.json_name
    head, *rest = field.name.split("_")
    return head + "".join(part[:1].upper() + part[1:] for part in rest)


def field_fact(message, field):
    in_oneof = field.HasField("oneof_index") and not field.proto3_optional
    return ", ".join([
        f"number {field.number}",
        Field.Type.Name(field.type) + (" " + field.type_name if field.type_name else ""),
        Field.Label.Name(field.label),
        "optional" if field.proto3_optional else "no presence keyword",
        f"oneof {message.oneof_decl[field.oneof_index].name}" if in_oneof else "no oneof",
        f"json {json_name(field)}",
        f"packed {field.options.packed}" if field.options.HasField("packed") else "packed by default",
        "deprecated" if field.options.deprecated else "in use",
    ])


def collect_enum(scope, enum, facts):
    name = f"{scope}.{enum.name}"
    facts[f"enum {name}"] = "alias" if enum.options.allow_alias else "no alias"
    for value in enum.value:
        facts[f"enum value {name}.{value.name}"] = f"number {value.number}"


def collect_message(scope, message, facts):
    name = f"{scope}.{message.name}"
    facts[f"message {name}"] = "map entry" if message.options.map_entry else "message"
    for field in message.field:
        facts[f"field {name}.{field.name}"] = field_fact(message, field)
    for enum in message.enum_type:
        collect_enum(name, enum, facts)
    for nested in message.nested_type:
        collect_message(name, nested, facts)


def collect(file):
    facts = {f"file {file.name}": f"package {file.package}, syntax {file.syntax}"}
    for message in file.message_type:
        collect_message(file.package, message, facts)
    for enum in file.enum_type:
        collect_enum(file.package, enum, facts)
    for service in file.service:
        name = f"{file.package}.{service.name}"
        facts[f"service {name}"] = "service"
        for method in service.method:
            facts[f"method {name}.{method.name}"] = (
                f"{'stream ' if method.client_streaming else ''}{method.input_type} -> "
                f"{'stream ' if method.server_streaming else ''}{method.output_type}")
    return facts


def collect_all(files):
    facts = {}
    for file in files:
        facts.update(collect(file))
    return facts


def differences(ours, official):
    lines = []
    for key in sorted(ours.keys() | official.keys()):
        if key not in ours:
            lines.append(f"missing in proto/: {key} ({official[key]})")
        elif key not in official:
            lines.append(f"only in proto/: {key} ({ours[key]})")
        elif ours[key] != official[key]:
            lines.append(f"{key}: proto/ has {ours[key]}; official is {official[key]}")
    return lines


def load_set(path):
    with open(path, "rb") as file:
        return {f.name: f for f in descriptor_pb2.FileDescriptorSet.FromString(file.read()).file}


def official_files(pubsub_path):
    pubsub = load_set(pubsub_path)
    files = [pubsub[name] for name in FILES_FROM_PUBSUB]
    for module in MODULES:
        serialized = importlib.import_module(module).DESCRIPTOR.serialized_pb
        files.append(descriptor_pb2.FileDescriptorProto.FromString(serialized))
    return files


def notices_a_planted_difference(files, official):
    """A comparison that cannot fail proves nothing: move one field number and look."""
    planted = copy.deepcopy(files)
    planted[0].message_type[0].field[0].number += 1000
    return len(differences(collect_all(planted), official)) == 1


def count(facts, kind):
    return sum(key.startswith(kind + " ") and value != "map entry" for key, value in facts.items())


def main():
    official = collect_all(official_files(sys.argv[2]))
    # google.protobuf's own files come with protoc, on both sides.
    files = [f for name, f in load_set(sys.argv[1]).items() if not name.startswith("google/protobuf/")]
    ours = collect_all(files)
    lines = differences(ours, official)
    if lines:
        print("\n".join(lines))
        print(f"descriptors: {len(lines)} differences")
        return 1
    if not notices_a_planted_difference(files, official):
        print("descriptors: the comparison misses a planted difference")
        return 1
    print(f"descriptors: {count(ours, 'message')} messages, {count(ours, 'field')} fields, "
          f"{count(ours, 'enum value')} enum values, {count(ours, 'service')} services, "
          f"{count(ours, 'method')} methods equal")
    return 0


if __name__ == "__main__":
    sys.exit(main())
