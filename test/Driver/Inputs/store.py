# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""store.py ARCHIVE FOLDER NAME...: a zip archive of these files of the folder, not compressed."""

import os
import sys
import zipfile

with zipfile.ZipFile(sys.argv[1], "w", zipfile.ZIP_STORED) as archive:
    for name in sys.argv[3:]:
        archive.write(os.path.join(sys.argv[2], name), name)
