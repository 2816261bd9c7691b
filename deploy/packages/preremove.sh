#!/bin/sh
# Stops the service when the package is removed, not when it is upgraded: dpkg
# passes "remove" or "upgrade", rpm how many versions will be left.
set -e

case ${1:-} in
remove | 0)
	if [ -d /run/systemd/system ]; then
		systemctl --no-reload disable --now waybill.service || true
	fi
	;;
esac
