#!/bin/sh
# Nothing is started or restarted here: the service migrates its database when it
# starts, and the administrator chooses when that happens.
set -e

if [ -d /run/systemd/system ]; then
	systemctl daemon-reload || true
fi

if ! grep -qs '^DATABASE_URL=' /etc/waybill/env; then
	echo "waybill: set DATABASE_URL in /etc/waybill/env, then: systemctl enable --now waybill"
else
	echo "waybill: restart the service to run the new version: systemctl restart waybill"
fi
