#!/bin/sh
# readme.sh FILE - the commands in a text of Markdown, as a script.
#
# The commands are the lines between "```sh" and "```".
exec awk '/^```/ { shown = $0 == "```sh"; next } shown' "$1"
