# Completion for bash.  What there is to complete is what --help prints: options
# with the words that stand for their arguments, and commands.

# _pskit_argument PROGRAM OPTION EQUALS - the word for the argument that the
# option has behind it, or behind EQUALS, which is "\[?" where there is a "=".
_pskit_argument() {
	"$1" --help 2>/dev/null |
		sed -nE -e "s/^  $2, --[a-z-]+=([^ ]+).*/\1/p" \
		-e "s/^  (-.,|   ) $2$3=([^ ]+).*/\2/p"
}

# _pskit_complete WORD ARGUMENT - what can stand for an argument: a choice is in
# small letters, and what is in capitals is of a kind.
_pskit_complete() {
	local choices

	case $2 in
	*DIRECTORY* | DIR)
		compopt -o filenames
		mapfile -t COMPREPLY < <(compgen -d -- "$1") ;;
	*COMMAND)
		mapfile -t COMPREPLY < <(compgen -c -- "$1") ;;
	*FILE | *PATH | MODEL | INPUT | CLUSTER)
		compopt -o filenames
		mapfile -t COMPREPLY < <(compgen -f -- "$1") ;;
	esac
	if [[ $2 == *'|'* ]]; then
		choices=$(tr '|' '\n' <<<"$2" | sed '/^[A-Z]/d; s/[A-Z].*//')
		COMPREPLY+=($(compgen -W "$choices" -- "$1"))
	fi
}

_pskit() {
	local program=${COMP_WORDS[0]} word=${COMP_WORDS[COMP_CWORD]}
	local before=${COMP_WORDS[COMP_CWORD - 1]} equals='' i
	local help commands given='' argument=''

	# "=" is a word by itself.
	if [ "$word" = = ]; then
		word='' equals='\[?'
	elif [ "$before" = = ]; then
		before=${COMP_WORDS[COMP_CWORD - 2]} equals='\[?'
	fi
	# ps-local has the words of its workers between two --, and then those
	# of a command; ps-node those of each role behind its name.
	for ((i = 1; i < COMP_CWORD; i++)); do
		case ${program##*/}:${COMP_WORDS[i]} in
		ps-local:--) program=ps-work ;;
		ps-work:--) program=ps-local ;;
		ps-local:*ps-coord | ps-local:*ps-eval | ps-local:*ps-ckpt | \
		ps-local:*ps-submit)
			program=${COMP_WORDS[i]} ;;
		ps-*:--chief) program=ps-coord ;;
		ps-*:--worker) program=ps-work ;;
		ps-*:--ps) program=ps-serve ;;
		ps-*:--evaluator) program=ps-eval ;;
		ps-*:--relay) program=ps-relay ;;
		*) given+=" ${COMP_WORDS[i]} " ;;
		esac
	done
	COMPREPLY=()
	case $before in
	-?*) argument=$(_pskit_argument "$program" "$before" "$equals") ;;
	esac
	if [ "$argument" ]; then
		_pskit_complete "$word" "$argument"
		return 0
	fi
	help=$("$program" --help 2>/dev/null) || return 0
	if [[ $word == -* ]]; then
		COMPREPLY=($(compgen -W "$(sed -nE \
			's/^  (-.,|   ) (--[a-z-]+=?).*/\2/p' <<<"$help")" \
			-- "$word"))
		[[ ${COMPREPLY-} != *= ]] || compopt -o nospace
		return 0
	fi
	# What is not a command is completed by the names of files.
	commands=$(sed -n '/^Commands:/,/^$/s/^  \([a-z]*\) .*/\1/p' <<<"$help")
	for i in $commands; do
		[[ $given != *" $i "* ]] || return 0
	done
	COMPREPLY=($(compgen -W "$commands" -- "$word"))
	return 0
}

complete -o default -F _pskit ps-ckpt ps-coord ps-eval ps-local ps-node \
	ps-relay ps-serve ps-submit ps-work
