#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes functions.txtpb: the ops of ONNX that its specification defines as functions of other ops, as the wheel `onnx`
has them. Bodies that depend on the types or attributes of a call are the importer's own.

  generate.py OUT     in a Python with onnx==1.23.2, with protoc in PATH
"""

import os
import subprocess
import sys
import tempfile

import onnx
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory, text_format

VERSION = "1.23.2"
ROOT = os.path.realpath(os.path.join(os.path.dirname(__file__), "../../../.."))
SCHEMA = "lib/Import/ONNX/Reader/Onnx.proto"
HEAD = f"""# The bodies of ONNX's own functions, of onnx {VERSION} (Copyright (c) ONNX Project Contributors, Apache-2.0).
# Written by generate.py; do not edit.
# proto-file: {SCHEMA}
# proto-message: mpc.onnx.file.FunctionTable
"""


def table_class():
    """The class of the table, of our own schema."""
    with tempfile.TemporaryDirectory() as work:
        path = os.path.join(work, "schema")
        subprocess.run(["protoc", f"--proto_path={ROOT}", f"--descriptor_set_out={path}", SCHEMA], check=True, cwd=ROOT)
        with open(path, "rb") as file:
            files = descriptor_pb2.FileDescriptorSet.FromString(file.read())
    pool = descriptor_pool.DescriptorPool()
    pool.Add(files.file[0])
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("mpc.onnx.file.FunctionTable"))


def bodies():
    """Each op's schema and body, by op and version."""
    for schema in sorted(onnx.defs.get_all_schemas_with_history(), key=lambda each: (each.domain, each.name, each.since_version)):
        if schema.domain == "" and schema.has_function:
            for version in schema.function_opset_versions:
                yield schema, schema.get_function_with_opset_version(version)


def add_defaults(function, schema):
    """A call may leave out what the op has a default for; the body names it without."""
    for name in list(function.attribute):
        default = schema.attributes[name].default_value
        if default.type:
            function.attribute.remove(name)
            function.attribute_proto.add().ParseFromString(default.SerializeToString())


def main():
    if onnx.__version__ != VERSION:
        sys.exit(f"generate.py: onnx is {onnx.__version__}; expected {VERSION}; pip install onnx=={VERSION}")
    table = table_class()()
    for schema, body in bodies():
        function = type(table).Row().function
        function.ParseFromString(body)
        add_defaults(function, schema)
        function.DiscardUnknownFields()
        function.name = schema.name
        function.ClearField("domain")
        for node in function.node:
            node.ClearField("name")
        if table.row and table.row[-1].function == function:
            table.row[-1].since.append(schema.since_version)
        else:
            table.row.add(since=[schema.since_version], function=function)
    with open(sys.argv[1], "w", encoding="utf-8") as file:
        file.write(HEAD)
        for row in table.row:
            nodes, others = list(row.function.node), row.function
            others.ClearField("node")
            file.write("row {\n")
            file.write("".join(f"  since: {since}\n" for since in row.since))
            file.write("  function { " + text_format.MessageToString(others, as_one_line=True) + "\n")
            file.write("".join("    node { " + text_format.MessageToString(node, as_one_line=True) + " }\n" for node in nodes))
            file.write("  }\n}\n")


if __name__ == "__main__":
    main()
