#!/usr/bin/env python3
"""Writes step.0.et to step.3.et: one step of a training job on four ranks, as chakra's own tools write traces.

Needs Google's protobuf (pip install protobuf). The messages are those of mlcommons/chakra, schema/protobuf/et_def.proto, as far
as they are used here.
"""

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

FIELD = descriptor_pb2.FieldDescriptorProto
ALL_REDUCE, ALL_TO_ALL = 0, 6
COMP, SEND, RECV, COLL = 4, 5, 6, 7
RANKS = 4


def messages():
    """The classes of GlobalMetadata, AttributeProto and Node."""
    file = descriptor_pb2.FileDescriptorProto(name="et_def.proto", package="ChakraProtoMsg", syntax="proto3")

    def message(name, fields):
        made = file.message_type.add(name=name)
        for number, name, kind, label, of in fields:
            field = made.field.add(name=name, number=number, type=kind, label=label)
            if of:
                field.type_name = ".ChakraProtoMsg." + of
        return made

    one, many = FIELD.LABEL_OPTIONAL, FIELD.LABEL_REPEATED
    attribute = message("AttributeProto", [
        (1, "name", FIELD.TYPE_STRING, one, None),
        (2, "doc_string", FIELD.TYPE_STRING, one, None),
        (9, "int64_val", FIELD.TYPE_INT64, one, None),
        (11, "uint32_val", FIELD.TYPE_UINT32, one, None),
        (13, "uint64_val", FIELD.TYPE_UINT64, one, None),
        (27, "bool_val", FIELD.TYPE_BOOL, one, None),
        (29, "string_val", FIELD.TYPE_STRING, one, None),
    ])
    attribute.oneof_decl.add(name="value")
    for field in attribute.field:
        if field.name.endswith("_val"):
            field.oneof_index = 0
    message("GlobalMetadata", [
        (1, "version", FIELD.TYPE_STRING, one, None),
        (2, "attr", FIELD.TYPE_MESSAGE, many, "AttributeProto"),
    ])
    message("Node", [
        (1, "id", FIELD.TYPE_UINT64, one, None),
        (2, "name", FIELD.TYPE_STRING, one, None),
        (3, "type", FIELD.TYPE_INT32, one, None),
        (4, "ctrl_deps", FIELD.TYPE_UINT64, many, None),
        (5, "data_deps", FIELD.TYPE_UINT64, many, None),
        (6, "start_time_micros", FIELD.TYPE_UINT64, one, None),
        (7, "duration_micros", FIELD.TYPE_UINT64, one, None),
        (10, "attr", FIELD.TYPE_MESSAGE, many, "AttributeProto"),
    ])
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return [
        message_factory.GetMessageClass(pool.FindMessageTypeByName("ChakraProtoMsg." + name))
        for name in ("GlobalMetadata", "AttributeProto", "Node")
    ]


METADATA, ATTRIBUTE, NODE = messages()


def node(number, name, kind, data=(), control=(), micros=0, **attributes):
    made = NODE(id=number, name=name, type=kind, duration_micros=micros, data_deps=data, ctrl_deps=control)
    made.attr.append(ATTRIBUTE(name="is_cpu_op", bool_val=False))
    for name, (kind, value) in attributes.items():
        made.attr.append(ATTRIBUTE(name=name, **{kind: value}))
    return made


def step(rank):
    """Gradients are summed up, experts in pairs exchange tokens, and a pipeline goes from rank to rank."""
    yield node(1, "backward", COMP, micros=20)
    yield node(2, "gradients", COLL, data=[1], comm_type=("int64_val", ALL_REDUCE), comm_size=("uint64_val", 400_000))
    yield node(3, "optimizer", COMP, data=[2], micros=10)
    yield node(4, "experts", COLL, data=[3], comm_type=("int64_val", ALL_TO_ALL),
               comm_size=("uint64_val", 200_000), pg_name=("string_val", "1" if rank < 2 else "2"))
    if rank > 0:
        yield node(5, "activations", RECV, control=[4], comm_src=("uint32_val", rank - 1),
                   comm_dst=("uint32_val", rank), comm_size=("uint64_val", 100_000), comm_tag=("uint32_val", 7))
        yield node(6, "forward", COMP, data=[5], micros=5)
    if rank + 1 < RANKS:
        yield node(7, "activations", SEND, data=[6] if rank > 0 else [4], comm_src=("uint32_val", rank),
                   comm_dst=("uint32_val", rank + 1), comm_size=("uint64_val", 100_000), comm_tag=("uint32_val", 7))


def varint(value):
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


for rank in range(RANKS):
    with open(f"step.{rank}.et", "wb") as file:
        for message in [METADATA(version="0.0.4"), *step(rank)]:
            encoded = message.SerializeToString(deterministic=True)
            file.write(varint(len(encoded)) + encoded)
