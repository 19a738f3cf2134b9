"""Links of the pages to files of the repository that are no pages lead to the repository.

GitHub wants \\| for | in the code of a table, the site |.
"""

import os
import pathlib
import re

REPOSITORY = pathlib.Path(os.environ["REPOSITORY"])
CODE = re.compile(r"`[^`\n]+`")
LINK = re.compile(r"(?<=\]\()([^)#:\s]+)(#[^)\s]*)?(?=\))")


def on_page_markdown(markdown, page, config, files):
    def leads(match):
        target = os.path.normpath(os.path.join(os.path.dirname(page.file.src_uri), match[1]))
        if files.get_file_from_path(target) or not (REPOSITORY / target).exists():
            return match[0]  # a page; or a broken link, which mkdocs reports
        return f"{config.repo_url}/blob/main/{target}{match[2] or ''}"

    return LINK.sub(leads, CODE.sub(lambda match: match[0].replace("\\|", "|"), markdown))
