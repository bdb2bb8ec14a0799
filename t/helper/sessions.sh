#!/bin/sh
# sessions.sh PAGE - the sessions in a manual page, as a script that runs them.
#
# A session is a literal display, or a line of .Dl, that begins with "$ ".
# "$ cat FILE" makes the file out of the lines below it; "$ " and "> " are a
# command and its continuation; other lines are what it must print.
exec awk '
	function end() {
		if (kind == "file")
			print "EOT"
		if (kind == "command" && shown != "")
			printf "} >out\ncat >wanted <<\"EOT\"\n%sEOT\n" \
				"diff wanted out\n", shown
		else if (kind == "command")
			print "}"
		kind = shown = ""
	}
	function begin(line) {
		end()
		if (line ~ /^cat [^ |<>]+$/) {
			kind = "file"
			print "cat >" substr(line, 5) " <<\"EOT\""
		} else {
			kind = "command"
			print "{\n" line
		}
	}
	BEGIN { print "set -e" }
	{ gsub(/\\e/, "\\"); gsub(/\\&/, "") }
	/^\.Dl \$ / { begin(substr($0, 7)); end() }
	/^\.Bd -literal/ { display = 1; next }
	/^\.Ed/ { end(); display = 0 }
	!display { next }
	/^\$ / { begin(substr($0, 3)); next }
	/^> / && kind == "command" && shown == "" { print substr($0, 3); next }
	kind == "file" { print }
	kind == "command" { shown = shown $0 "\n" }
' "$1"
