# A machine with a minimal Debian and what ./bootstrap installs, and no more.

# The packages that ./bootstrap names.
packages() {
	sed -n "/^packages='/,/'\$/p" "$SRC/bootstrap" |
		sed "s/packages=//; s/'//g"
}

# has_no_more - make the folder usr, of links to what such a machine has.
# Elsewhere than on Debian nobody can tell: there it is all that is installed.
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
