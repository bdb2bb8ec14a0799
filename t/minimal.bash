# Shared by tests of a machine that has only a minimal Debian and the packages
# that ./bootstrap installs.

# packages - print the names of the packages that ./bootstrap installs.
packages() {
	sed -n "/^packages='/,/'\$/p" "$SRC/bootstrap" |
		sed "s/packages=//; s/'//g"
}

# has_no_more - make the folder usr with links to the programs of such a
# machine.  On a system other than Debian usr links to all programs, since no
# list says which programs are in which package.
has_no_more() {
	local file essential
	if ! command -v dpkg-query >/dev/null; then
		ln -s /usr/bin usr
		return
	fi
	mkdir usr
	essential=$(dpkg-query -W -f '${Essential} ${Priority} ${Package}\n' |
		awk '$1 == "yes" || $2 == "required" { print $3 }')
	# shellcheck disable=SC2046,SC2086 # lists of words
	dpkg-query -L $essential $(packages) 2>/dev/null |
		grep -E '^(/usr)?/bin/[^/]+$' | sort -u >files
	while read -r file; do
		ln -sf "$file" usr
	done <files
	ln -sf "$(command -v awk)" usr/awk
}
