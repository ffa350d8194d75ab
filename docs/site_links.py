# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A hook of MkDocs: links of a page to what is in the repository but not on the site, such as sources and
folders, become plain text. What is not in the repository either is left, and MkDocs complains."""

import os
import posixpath
import re

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
LINK = re.compile(r"(?<!!)\[((?:[^\[\]]|\[[^\[\]]*\])*)\]\(([^()\s]+)\)")
FENCE = re.compile(r"(^ *```.*?^ *```$)", re.M | re.S)


def on_page_markdown(markdown, page, files, **_):
    folder = posixpath.dirname(page.file.src_uri)

    def replace(match):
        text, target = match.groups()
        path = target.partition("#")[0]
        if not path or "://" in path or path.startswith("mailto:"):
            return match[0]
        path = posixpath.normpath(posixpath.join(folder, path))
        if files.get_file_from_path(path) or not os.path.exists(os.path.join(ROOT, path)):
            return match[0]
        if files.get_file_from_path(posixpath.join(path, "README.md")):
            return f"[{text}]({posixpath.relpath(posixpath.join(path, 'README.md'), folder or '.')})"
        return text

    # Code is shown as it is.
    parts = FENCE.split(markdown)
    return "".join(part if i % 2 else LINK.sub(replace, part) for i, part in enumerate(parts))
