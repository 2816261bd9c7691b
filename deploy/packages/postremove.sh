#!/bin/sh
# A removal keeps the settings, which hold the key that carrier credentials are
# encrypted with, and /var/lib/waybill with what was bought and not yet stored. "apt
# purge" deletes the settings, as of every package: keep a copy of the key.
set -e

if [ -d /run/systemd/system ]; then
	systemctl daemon-reload || true
fi
