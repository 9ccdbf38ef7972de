#!/usr/bin/env bash
# Moves the threads of a fleet between the folder that its jobs exchange and the one that the cache knows, whose
# path is the same on each machine.
#
#   threads.sh place      puts what the cache had into the exchange
#   threads.sh withhold   takes the threads out of the result of a shard, which its artifact would show to everybody
#   threads.sh gather     puts the threads where the cache looks for them; output: there, true or false
set -euo pipefail

case $1 in
place)
  [ ! -d "$KEPT" ] || { mkdir -p "$EXCHANGE" && mv "$KEPT" "$EXCHANGE/threads"; }
  ;;
withhold)
  rm -rf "$EXCHANGE"/results/*/threads
  ;;
gather)
  if [ -d "$EXCHANGE/threads" ] && [ -n "$(ls -A "$EXCHANGE/threads")" ]; then
    rm -rf "$KEPT"
    mkdir -p "$(dirname "$KEPT")"
    mv "$EXCHANGE/threads" "$KEPT"
    echo "there=true" >>"$GITHUB_OUTPUT"
  else
    echo "there=false" >>"$GITHUB_OUTPUT"
  fi
  ;;
esac
