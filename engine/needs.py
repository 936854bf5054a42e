"""What an engine needs from the machine, and the command that installs it; imports nothing."""

from typing import Final

OLDEST_JAVA: Final = 17
INSTALL_JAVA: Final = "install it: apt-get install default-jre-headless (Debian, Ubuntu; as root)"
INSTALL_SPARK: Final = "install it: pip install 'smalti[spark]'"
