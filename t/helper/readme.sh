#!/bin/sh
# readme.sh FILE - the commands in a text of Markdown, as a script.
#
# They are what stands between "```sh" and "```".
exec awk '/^```/ { shown = $0 == "```sh"; next } shown' "$1"
