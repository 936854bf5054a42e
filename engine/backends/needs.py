"""What an engine needs from the machine, and the commands that install it; a light import."""

from typing import Final

OLDEST_JAVA: Final = 17
INSTALL_JAVA: Final = "install it: apt-get install default-jre-headless (Debian, Ubuntu; as root)"
