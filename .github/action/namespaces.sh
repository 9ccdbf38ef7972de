#!/usr/bin/env bash
# Codex's sandbox on Linux needs user namespaces without privileges, which some distributions switch off.
# They are switched on for as long as the machine runs, and only where they are off.
set -euo pipefail
. "${0%/*}/common.sh"
kernel=$1 # folder of the settings

allow() { # setting, value that allows
  local file=$kernel/$1
  if [ ! -e "$file" ] || [ "$(cat "$file")" = "$2" ]; then
    return
  fi
  if [ "$(id -u)" = 0 ]; then
    echo "$2" >"$file" || refuse "User namespaces are switched off" "$1 cannot be set to $2 here: set it on the host, or run the job without a container."
  elif command -v sudo >/dev/null && sudo -n true 2>/dev/null; then
    echo "$2" | sudo -n tee "$file" >/dev/null || refuse "User namespaces are switched off" "sudo cannot set $1 to $2: set it on the host, or run the job without a container."
  else
    refuse "User namespaces are switched off" "Codex's sandbox needs them, and there is no sudo without a password to switch them on: set kernel.$1=$2 by sysctl on the runner."
  fi
  echo "Set kernel.$1 to $2"
}

allow apparmor_restrict_unprivileged_userns 0
allow unprivileged_userns_clone 1
