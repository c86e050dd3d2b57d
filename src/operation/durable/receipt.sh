# The remote half of a keyed operation: plain POSIX sh, read as text by the loader, nothing installed.
#
# What client and program say to each other is written down in mod.rs. The client puts a prologue before this text, one
# assignment a line, so that nothing of it can come from the user's environment:
#   _n      the run's random name: it begins every line of ours
#   _kh     hash of the key, hex
#   _g0     the generation that HELLO shall tell the state of
#   _home0  empty: the home of the effective user, from the account database. Tests set it.
#   _bid0   empty: what the kernel says. Tests set it, to have a host reboot.
#
# Four roles, each the parent of the next but the first, which may go away at any time:
#   (none)  talks to the client: launches, then follows
#   sup     a session of its own, nothing of the channel's held open; keeps a ticker; second publisher
#   wrap    relays both streams into files, waits for the command, publishes how it ended
#   run     leads the command's session: takes the gate, becomes the command
#
# A register is a dangling symlink, and its text is the value: made at once with its content, by one of many, on a full disk
# too. Who has made it is told by reading it back, never by ln's word.
#
# No line may depend on its indentation, nor on a comment: the client strips both.
#
# shellcheck shell=sh
# The prologue's names are set elsewhere; a FIFO is opened for reading and writing in one line.
# shellcheck disable=SC2154,SC2094

_nl='
'

# ---- the environment: ours is fixed, the command gets back its own ----
if [ "$#" = 0 ]; then
	_um=$(umask)
	_lc=${LC_ALL+x$LC_ALL}
	_path=${PATH+x$PATH}
	PATH=${PATH:+$PATH:}/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin
fi
umask 077
LC_ALL=C
export LC_ALL PATH
IFS=" 	$_nl"
set -f
# shellcheck disable=SC2016
_role='eval "$_prog"'
nap() {
	sleep "$1" 2>/dev/null || sleep 1
}

# ---- registers ----
rget() { # PATH: its value in _v
	_v=
	while [ -h "$1" ]; do
		_v=$(ls -dln "$1" 2>/dev/null)
		case $_v in *' -> 1:'*) _v=${_v##*' -> 1:'}; return 0 ;; esac
		# It is there, so it can be read: where no process could be made for that, a little later.
		nap 0.1
	done
	_v=
	return 1
}
rset() { # PATH VALUE: true when it holds this value now, whoever made it
	[ -h "$1" ] || ln -s "1:$2" "$1" 2>/dev/null
	rget "$1" && [ "$_v" = "$2" ]
}

# ---- processes ----
number() {
	case $1 in '' | *[!0-9]* | ???????????*) return 1 ;; esac
}
pstart() { # PID: when it began, in _ps; false where it is dead or a zombie
	_ps=
	number "$1" || return 1
	if [ -r /proc/self/stat ]; then
		{ IFS= read -r _ps <"/proc/$1/stat"; } 2>/dev/null || { _ps=; return 1; }
		# shellcheck disable=SC2086
		set -- ${_ps##*")"}
		_ps=
		case ${1-Z} in Z | X | x) return 1 ;; esac
		shift 19 && _ps=$1
	else
		_ps=$(TZ=UTC0 ps -o lstart= -p "$1" 2>/dev/null | tr -cd 'A-Za-z0-9')
		[ -n "$_ps" ]
	fi
}
same() { # PID START: that very process lives
	number "$1" && [ "$1" -gt 1 ] && pstart "$1" && [ "$_ps" = "$2" ]
}

# ---- run: the command ----
run() { # GEN ATTEMPT FP DEADLINE MODE
	_a=$_k/a.$2
	_mode=$5 _script=$_a/script _cmd=
	if ! [ -s "$_a/sup" ] || ! [ -s "$_a/wrap" ]; then exit 1; fi
	pstart $$
	_p=$PATH _gv="$2:$3:$_boot8:$$:$_ps"
	# The command's own surroundings. What they need of us is decided before the gate: a directory that is not there, an export.
	if [ -n "$_path" ]; then PATH=${_path#x}; else unset PATH; fi
	if [ -n "$_lc" ]; then LC_ALL=${_lc#x}; else unset LC_ALL; fi
	set +f
	_why=
	eval "$_text" 2>/dev/null || _why=${_why:-setup}
	set -f
	if [ -n "$_why" ]; then
		PATH=$_p
		rset "$_a/fail" "$_why"
		exit 1
	fi
	_path=${PATH+x$PATH} PATH=$_p
	# Here it is decided, by the process that becomes the command.
	rset "$_k/gate" "$_gv" || exit 1
	if [ -n "$_path" ]; then PATH=${_path#x}; else unset PATH; fi
	umask "$_um"
	unset _prog _text _um _lc _path _iso _d _node _bid _ns _boot8
	case $_mode in
	user) exec "${SHELL:-/bin/sh}" -c "$_cmd" ;;
	file) exec "${SHELL:-/bin/sh}" "$_script" ;;
	*) exec sh -c "$_cmd" sh "$_script" ;;
	esac
}
# Each role reads the text as far as it needs it: half of what a role costs is the reading.
_mine='' _tick='' _timer='' _watch='' _gen0=${2-} _k=${_d-}/k/$_kh.${2-}
if [ "${1-}" = run ]; then
	shift
	run "$@"
fi

# ---- wrap: the command's parent ----
look() { # GEN: what a generation's registers hold
	_gen=$1 _k=$_d/k/$_kh.$1
	_gate='' _done='' _settled='' _ack='' _at='' _fp='' _why=''
	[ -d "$_k" ] || return 0
	_v=$(cd "$_k" 2>/dev/null && ls -dln gate "done" settled ack 2>/dev/null)
	IFS=$_nl
	for _line in $_v; do
		case $_line in
		*' gate -> 1:'*) _gate=${_line##*' -> 1:'} ;;
		*' done -> 1:'*) _done=${_line##*' -> 1:'} ;;
		*' settled -> 1:'*) _settled=${_line##*' -> 1:'} ;;
		*' ack -> 1:'*) _ack=1 ;;
		esac
	done
	IFS=" 	$_nl"
	parts "$_gate"
}
parts() { # GATE: attempt, fingerprint, boot and leader of a gate; or why it is fenced
	_a=$_k
	case $1 in
	FENCED:*) _why=${1#FENCED:} ;;
	*:*:*:*:*)
		IFS=:
		# shellcheck disable=SC2086
		set -- $1
		IFS=" 	$_nl"
		_at=$1 _fp=$2 _gboot=$3 _lead=$4 _leadst=$5
		_a=$_k/a.$1
		;;
	esac
}
sizes() { # of out and err in _o and _e, at most the cap
	_o=0 _e=0
	[ -s "$_a/out" ] || [ -s "$_a/err" ] || return 0
	_v=$(cd "$_a" 2>/dev/null && ls -dln out err 2>/dev/null)
	IFS=$_nl
	for _line in $_v; do
		IFS=" 	$_nl"
		# shellcheck disable=SC2086
		set -- $_line
		case $_line in *' out') _o=$5 ;; *' err') _e=$5 ;; esac
	done
	IFS=" 	$_nl"
	[ "$_o" -gt "$_cap" ] && _o=$_cap
	[ "$_e" -gt "$_cap" ] && _e=$_cap
	return 0
}
meta() { # what of an attempt is known before its gate
	_cap=268435456 _grace=700 _iso=none
	[ -r "$_a/meta" ] && IFS=: read -r _cap _grace _iso <"$_a/meta"
	number "$_cap" || _cap=268435456
	number "$_grace" || _grace=700
}
publish() { # _rc _fl: the first one of us that can say how it ended; none can overwrite it
	[ -h "$_a/cancel" ] && _fl=${_fl}c
	[ -h "$_a/deadline" ] && _fl=${_fl}d
	[ -h "$_a/over.out" ] && _fl=${_fl}t
	[ -h "$_a/over.err" ] && _fl=${_fl}u
	sizes
	_i=0
	until rset "$_k/done" "$_rc:$_o:$_e:${_fl:--}"; do
		[ -h "$_k/done" ] && break
		_i=$((_i + 1))
		[ "$_i" -gt 900 ] && exit 1
		sleep 2
	done
	rm -f "$_a/in" 2>/dev/null
}
wrap() { # GEN ATTEMPT FP DEADLINE MODE
	trap : HUP INT TERM
	_k=$_d/k/$_kh.$1 _a=$_d/k/$_kh.$1/a.$2
	meta
	pstart $$
	printf '%s:%s\n' "$$" "$_ps" 2>/dev/null >"$_a/wrap"
	[ -s "$_a/wrap" ] || exit 1
	# The command gets pipes, as it would from sshd: a file would be emptied by the first `>/dev/stderr`. All ends are opened
	# here, none can wait for another.
	(cd "$_a" && mkfifo o e) 2>/dev/null || exit 1
	exec 5<>"$_a/o" 7>"$_a/o" 8<"$_a/o" 5>&-
	# By `exec`: yash would keep copies of what it closes for a command.
	(exec cat <&8 2>/dev/null >"$_a/out" 7>&- 8<&-) &
	_c1=$!
	exec 8<&- 5<>"$_a/e" 9>"$_a/e" 8<"$_a/e" 5>&-
	(exec cat <&8 2>/dev/null >"$_a/err" 7>&- 9>&- 8<&-) &
	_c2=$!
	exec 8<&-
	(exec rm -f "$_a/o" "$_a/e" 7>&- 9>&-) &
	pstart "$_c1"
	_v=$_ps
	pstart "$_c2"
	printf '%s %s %s %s\n' "$_c1" "$_v" "$_c2" "$_ps" 2>/dev/null >"$_a/relays"
	[ -f "$_a/in" ] && exec <"$_a/in"
	shift 1
	case $_iso in
	setsid*) setsid sh -c "$_role" "ssh-cli $_kh" run "$_gen0" "$@" >&7 2>&9 7>&- 9>&- ;;
	perl) perl -e 'use POSIX; POSIX::setsid(); exec @ARGV' sh -c "$_role" "ssh-cli $_kh" run "$_gen0" "$@" >&7 2>&9 7>&- 9>&- ;;
	setm)
		set -m
		sh -c "$_role" "ssh-cli $_kh" run "$_gen0" "$@" <&0 >&7 2>&9 7>&- 9>&- &
		_c=$!
		set +m
		while :; do
			wait "$_c"
			_rc=$?
			# A signal to us ends the wait, not the command.
			kill -0 "$_c" 2>/dev/null || break
		done
		(exit "$_rc")
		;;
	*) sh -c "$_role" "ssh-cli $_kh" run "$_gen0" "$@" >&7 2>&9 7>&- 9>&- ;;
	esac
	_rc=$?
	# A signal is 128 and its number in every shell but ksh93, 256, and yash, 384.
	if [ "$_rc" -ge 384 ]; then _rc=$((_rc - 256)); elif [ "$_rc" -gt 255 ]; then _rc=$((_rc - 128)); fi
	trap '' HUP INT TERM
	exec 7>&- 9>&- </dev/null
	rget "$_k/gate"
	case $_v in "$1":*) ;; *) exit 1 ;; esac
	ln -s "1:$_rc" "$_a/rc" 2>/dev/null &
	_fl=
	for _c in "$_c1" "$_c2"; do
		wait "$_c"
		# yash has forgotten by now that there was one, and says 127.
		case $? in 0 | 127) ;; *) _fl=h ;; esac
	done
	publish
	exit 0
}
if [ "${1-}" = wrap ]; then
	shift
	wrap "$@"
fi

# ---- sup: the supervisor ----
group() { # 0: the command's group, or what stands for it, lives; 2: so it does, and may not be signalled; 1: it is gone
	number "$_lead" && [ "$_lead" -gt 1 ] || return 1
	# With another start time the pid is a stranger's by now.
	pstart "$_lead" && [ "$_ps" != "$_leadst" ] && return 1
	case $_iso in none) _t=$_lead ;; *) _t=-$_lead ;; esac
	_v=$(kill -0 "$_t" 2>&1) && return 0
	case $_v in *ermi[st]*) return 2 ;; esac
	return 1
}
signal() { # NAME: to the command's group; only this spelling is understood everywhere
	group && kill "-$1" "$_t" 2>/dev/null
	return 0
}
stop() { # one of all who want it stopped sends TERM
	ln -s "1:$$" "$_a/stopping" 2>/dev/null || return 0
	signal TERM
}
over() { # out or err: cut back to the cap, of which every reader gets the same bytes
	# shellcheck disable=SC2046
	set -- "$1" $(ls -dln "$_a/$1" 2>/dev/null)
	[ "${6:-0}" -gt "$_cap" ] || return 0
	rset "$_a/over.$1" 1 && dd if=/dev/null of="$_a/$1" bs=65536 seek=$((_cap / 65536)) 2>/dev/null
}
relaying() {
	_r=
	[ -r "$_a/relays" ] && read -r _r <"$_a/relays"
	# shellcheck disable=SC2086
	set -- $_r
	same "${1-}" "${2-}" || same "${3-}" "${4-}"
}
release() {
	relaying
	# shellcheck disable=SC2086
	set -- $_r
	same "${1-}" "${2-}" && kill "$1" 2>/dev/null
	same "${3-}" "${4-}" && kill "$3" 2>/dev/null
}
clock() { # hundredths of a second since some moment, in _now; no clock of the day, which may be set
	if [ -r /proc/uptime ]; then
		read -r _now _v </proc/uptime
		_v=1${_now#*.} _now=${_now%.*}
		_now=$(((_now - _sec0) * 100 + _v))
	else
		_now=$((_now + 100))
	fi
}
ticker() { # PID START DEADLINE: heartbeat, deadline, cap, cancellation; as long as anybody is there to publish
	trap - HUP INT TERM
	_now=0 _sec0=0 _beat=0 _quiet=0 _was='' _killed='' _left=''
	[ -r /proc/uptime ] && read -r _v _nap </proc/uptime && _sec0=${_v%%.*}
	clock
	_end=
	[ "$3" -gt 0 ] && _end=$((_now + ($3 + 9) / 10))
	while :; do
		_nap=1
		if [ -n "$_end" ] && [ $((_end - _now)) -lt 100 ]; then _nap=0.1; fi
		[ -n "$_left" ] && _nap=0.1
		nap "$_nap"
		[ "$_nap" = 1 ] || [ -r /proc/uptime ] || _now=$((_now - 90))
		clock
		_beat=$((_beat + 1))
		[ $((_beat % 5)) = 1 ] && printf '%s\n' "$_beat" 2>/dev/null >"$_a/hb"
		[ -h "$_k/gate" ] || { same "$1" "$2" || exit 0; continue; }
		[ -n "$_at" ] || { look "$_gen0"; meta; [ "$_at" = "$_me" ] || exit 0; }
		if [ -n "$_end" ] && [ "$_now" -ge "$_end" ] && ! [ -h "$_k/done" ]; then
			_end=
			ln -s 1:1 "$_a/deadline" 2>/dev/null
			stop
		fi
		[ -h "$_a/cancel" ] && ! [ -h "$_a/stopping" ] && stop
		# Whoever has begun to stop it may be cut off before the end; the end comes from here.
		if [ -h "$_a/stopping" ] && [ -z "$_left" ] && [ -z "$_killed" ]; then _left=$((_now + _grace / 10)); fi
		if [ -n "$_left" ] && [ "$_now" -ge "$_left" ]; then
			_left=
			signal KILL
			_killed=1
		fi
		if [ -n "$_left" ] && [ -h "$_k/done" ]; then group || [ "$?" = 2 ] || exit 0; fi
		[ -z "$_left" ] && [ -h "$_k/done" ] && exit 0
		over out
		over err
		if [ -h "$_a/rc" ]; then
			# The command has ended, and something that it left behind holds its streams: two quiet seconds are the end.
			sizes
			if [ "$_was" = "$_o.$_e" ]; then _quiet=$((_quiet + 1)); else _quiet=0; fi
			_was=$_o.$_e
			if [ "$_quiet" -ge 2 ]; then release; fi
		fi
		same "$1" "$2" && continue
		_wl=
		[ -r "$_a/wrap" ] && read -r _wl <"$_a/wrap"
		same "${_wl%:*}" "${_wl#*:}" || exit 0
	done
}
gc() { # what is over and old; fifty entries at most are looked at
	set +f
	set -- "$_d"/k/*
	set -f
	[ -d "$1" ] || return 0
	if [ "$#" -gt 50 ]; then
		# Another fifty each time.
		shift $(($$ % ($# - 49)))
		_i=0 _list=
		for _v in "$@"; do
			_i=$((_i + 1))
			[ "$_i" -gt 50 ] && break
			_list=$_list$_v$_nl
		done
		IFS=$_nl
		# shellcheck disable=SC2086
		set -- $_list
	fi
	IFS=$_nl
	# Outputs: a day after the acknowledgement, thirty after the end.
	# shellcheck disable=SC2046
	for _v in $(find "$@" -type l -name ack -mtime +0; find "$@" -type l -name "done" -mtime +29); do
		set +f
		rm -f "${_v%/*}"/a.*/out "${_v%/*}"/a.*/err "${_v%/*}"/a.*/script "${_v%/*}"/a.*/in
		set -f
	done
	# Tombstones: ninety days after the end, or after the last change of what can never end any more.
	# shellcheck disable=SC2044
	for _v in $(find "$@" -type l -name "done" -mtime +89); do bury "${_v%/*}"; done
	for _k in "$@"; do
		[ -h "$_k/done" ] || ! [ -d "$_k" ] || [ -z "$(find "$_k" -prune -mtime +89)" ] && continue
		rget "$_k/gate"
		case $_v in *:*:"$_boot8":*) ;; *) bury "$_k" ;; esac
	done
	IFS=" 	$_nl"
} 2>/dev/null
bury() { # DIRECTORY: out of sight at once, then gone
	mv "$1" "$_d/trash/$$.${1##*/}" && rm -rf "$_d/trash/$$.${1##*/}"
}
sup() { # GEN ATTEMPT FP DEADLINE MODE
	trap : HUP INT TERM
	_k=$_d/k/$_kh.$1 _a=$_d/k/$_kh.$1/a.$2 _me=$2
	meta
	pstart $$
	printf '%s:%s:%s:%s:%s\n' "$_node" "$_bid" "$_ns" "$$" "$_ps" 2>/dev/null >"$_a/sup"
	_w=1
	if [ -s "$_a/sup" ]; then
		ticker "$$" "$_ps" "$4" &
		_tick=$!
		# In the foreground: what is started behind an `&` ignores SIGINT, and so would all its children.
		sh -c "$_role" "ssh-cli $_kh" wrap "$@"
		_w=$?
	fi
	# A wrapper that was killed may have left one behind who is about to take the gate: either he has it, or nobody ever gets it.
	while [ "$_w" -gt 128 ] && ! [ -h "$_k/gate" ] && [ -d "$_k" ]; do
		ln -s 1:FENCED:broken "$_k/gate" 2>/dev/null || nap 1
	done
	look "$1"
	if [ -z "$_gate" ] || [ "$_at" != "$_me" ]; then
		# Whoever could have taken the gate for us has ended. The launcher takes the spool away when it has read why.
		rset "$_d/k/$_kh.$1/a.$_me/fail" setup
		[ -n "$_tick" ] && kill "$_tick" 2>/dev/null
		[ -n "$_gate" ] && rm -rf "$_d/k/$_kh.$1/a.$_me"
		exit 0
	fi
	if [ -z "$_done" ]; then
		# The wrapper is gone. What it started may run on, and so may the relays, as long as they have something to relay.
		_nap=0.02
		while group || [ "$?" = 2 ]; do nap "$_nap"; _nap=0.5; done
		_i=0
		while relaying && [ "$_i" -lt 50 ]; do nap 0.1; _i=$((_i + 1)); done
		_rc=- _fl=l
		rget "$_a/rc" && _rc=$_v _fl=
		publish
	fi
	if [ -h "$_a/stopping" ]; then wait "$_tick"; else kill "$_tick" 2>/dev/null; fi
	gc
	exit 0
}
if [ "${1-}" = sup ]; then
	shift
	sup "$@"
fi

# ---- where we are ----
say() {
	printf '%s %s .\n' "$_n" "$*" || exit 1
}
refuse() { # KIND WHY: nothing can be kept here, and nothing was started
	printf '\n'
	say NOROOT "$1" "$2"
	exit 0
}
whoami_and_where() {
	_v=$(id)
	case $_v in *' euid='*) _v=${_v#*' euid='} ;; *) _v=${_v#uid=} ;; esac
	_uid=${_v%%[!0-9]*}
	number "$_uid" || refuse unsupported uid
	case $_v in "$_uid("*) _v=${_v#*"("} _v=${_v%%")"*} ;; *) _v= ;; esac
	_home=$_home0
	if [ -z "$_home" ]; then
		# HOME differs between logins of one account; a second root would be a second gate.
		case $_v in '' | -* | *[!A-Za-z0-9._-]*) ;; *) eval "_home=~$_v" ;; esac
		case $_home in /*) ;; *) _home=$(getent passwd "$_uid" 2>/dev/null) && _home=${_home%:*} && _home=${_home##*:} ;; esac
	fi
	case $_home in *"$_nl"*) refuse unsupported home ;; /*) ;; *) refuse unsupported home ;; esac
	[ -d "$_home" ] || refuse unsupported home
	_d=${_home%/}/.local/state/ssh-cli/ops1
	if ! [ -d "$_d/k" ] || ! [ -d "$_d/trash" ]; then
		mkdir -p "$_d/k" "$_d/trash" 2>/dev/null
		[ -d "$_d/k" ] || refuse unwritable root
	fi
	if ! [ -h "$_d/id" ]; then
		_v=$(od -An -tx1 -N16 /dev/urandom 2>/dev/null | tr -cd 0-9a-f)
		[ -n "$_v" ] || _v=$$$(date +%s)
		ln -s "1:$_v" "$_d/id" 2>/dev/null
		rget "$_d/id" || {
			true 2>/dev/null >"$_d/probe.$$" || refuse unwritable root
			rm -f "$_d/probe.$$"
			refuse unsupported symlink
		}
	fi
	_v=$(cd "$_home" && ls -dln /proc/self/ns/pid .local .local/state .local/state/ssh-cli .local/state/ssh-cli/ops1 .local/state/ssh-cli/ops1/k .local/state/ssh-cli/ops1/id 2>/dev/null)
	_c=0 _rid='' _ns=-
	IFS=$_nl
	for _line in $_v; do
		IFS=" 	$_nl"
		# shellcheck disable=SC2086
		set -- $_line
		case $_line in
		*/ns/pid' -> '*) _ns=${_line##*"["} _ns=${_ns%%"]"*} ;;
		*/ops1/id' -> 1:'*) _rid=${_line##*' -> 1:'} ;;
		d*/ssh-cli | d*/ops1 | d*/k) case $1:$3 in drwx------*:"$_uid") _c=$((_c + 1)) ;; esac ;;
		# Others may look into these two, as long as only we can write.
		d*) case $1:$3 in d????-??-?*:"$_uid") _c=$((_c + 1)) ;; esac ;;
		esac
	done
	IFS=" 	$_nl"
	case $_c$_rid in 5?*) ;; *) refuse unsupported owner ;; esac
	[ -w "$_d/k" ] || refuse unwritable root
}
host() {
	_node='' _v=''
	[ -r /etc/machine-id ] && read -r _node </etc/machine-id
	if [ -r /proc/sys/kernel/hostname ]; then read -r _v </proc/sys/kernel/hostname; else _v=$(uname -n); fi
	_node=$_node.$_v
	_bid=$_bid0
	if [ -z "$_bid" ]; then
		if [ -r /proc/sys/kernel/random/boot_id ]; then
			read -r _bid </proc/sys/kernel/random/boot_id
		else
			_bid=$(sysctl -n kern.bootsessionuuid 2>/dev/null || sysctl -n kern.boottime 2>/dev/null) || _bid=unknown
			_bid=$(printf %s "$_bid" | tr -c 'A-Za-z0-9-' _)
		fi
	fi
	_boot8=${_bid%"${_bid#????????}"}
	case $_node$_ns in *[!A-Za-z0-9._-]*) _node=$(printf %s "$_node" | tr -c 'A-Za-z0-9._-' _) ;; esac
}
detachment() { # how the command can be taken out of this session
	_iso=none _sig=ignored _v=
	if setsid -f true 2>/dev/null; then
		_iso=setsid _sig=default
	elif command -v perl >/dev/null 2>&1 && perl -e 'use POSIX' 2>/dev/null; then
		_iso=perl _sig=default
	elif command -v setsid >/dev/null 2>&1; then
		_iso=setsid-
	elif (set -m) 2>/dev/null; then
		# Where there is no terminal, some shells say yes and make no group.
		_v=$(set -m; sh -c 'ps -o pgid= -p $$; echo $$' 2>/dev/null & wait)
		# shellcheck disable=SC2086
		set -- $_v
		[ "${1-a}" = "${2-b}" ] && _iso=setm _sig=default
	fi
	_det=ok
	# A log-in manager that kills what a session leaves behind would kill the operation with it.
	if [ -n "${XDG_SESSION_ID-}" ] && [ -d /run/systemd/system ]; then
		set +f
		grep -qs '^ *KillUserProcesses *= *\(yes\|true\|on\|1\)' /etc/systemd/logind.conf /etc/systemd/logind.conf.d/*.conf /run/systemd/logind.conf.d/*.conf /usr/lib/systemd/logind.conf.d/*.conf && _det=session-bound
		set -f
	fi
}

# ---- what there is ----
alive() { # sets _st to running, orphan, dead or foreign
	_sl='' _wl=''
	[ -r "$_a/sup" ] && IFS= read -r _sl <"$_a/sup"
	[ -r "$_a/wrap" ] && IFS= read -r _wl <"$_a/wrap"
	meta
	IFS=:
	# shellcheck disable=SC2086
	set -- $_sl
	IFS=" 	$_nl"
	_st=foreign
	if [ "$#" != 5 ]; then
		# Its files are lost; the gate itself tells the boot.
		[ "$_gboot" = "$_boot8" ] || return 0
		set -- "$_node" "$_bid" "$_ns" 0 0
	fi
	[ "$1" = "$_node" ] || return 0
	_st=dead
	[ "$2" = "$_bid" ] || return 0
	_st=foreign
	[ "$3" = "$_ns" ] || return 0
	_st=running
	same "$4" "$5" && return 0
	same "${_wl%:*}" "${_wl#*:}" && return 0
	_st=orphan
	group || [ "$?" = 2 ] && return 0
	_st=dead
}
judge() { # GEN: registers, and what they and the processes say, in _st
	look "$1"
	_st=none
	[ -n "$_gate" ] || return 0
	_st='done'
	[ -z "$_done" ] || return 0
	_st=fenced
	[ -z "$_why" ] || return 0
	alive
	# It may have been published between the two looks.
	rget "$_k/done" && _done=$_v _st='done'
	return 0
}
ended() { # the parts of `done`, and whether the bytes are still there
	_rc=- _ob=- _eb=- _fl=-
	[ -n "$_done" ] || return 0
	IFS=:
	# shellcheck disable=SC2086
	set -- $_done
	IFS=" 	$_nl"
	_rc=$1 _ob=$2 _eb=$3 _fl=${4:--}
	if { [ "$_ob" != 0 ] && ! [ -f "$_a/out" ]; } || { [ "$_eb" != 0 ] && ! [ -f "$_a/err" ]; }; then
		case $_fl in -) _fl=x ;; *) _fl=${_fl}x ;; esac
	fi
}
tell() { # GEN
	judge "$1"
	ended
	say STATE "$_gen" "$_st" "${_at:--}" "${_fp:--}" "$_rc" "$_ob" "$_eb" "$_fl" "${_why:--}" "${_settled:--}" "${_ack:-0}"
}

# ---- the client's sign of life ----
# While we follow, two of us look after the follower: one reads what the client says, the other ends us all when nothing was
# said for too long, even where we hang in a write that nobody takes.
lease() {
	[ -n "$_timer" ] && kill -USR1 "$_timer" 2>/dev/null
	return 0
}
timer() {
	trap '' USR1
	(
		trap '_i=0' USR1
		_i=0
		while [ "$_i" -lt 9 ]; do
			sleep 5
			_i=$((_i + 1))
			kill -0 $$ 2>/dev/null || exit 0
		done
		# All of the group is ours where we lead it.
		if [ -r /proc/self/stat ]; then
			_v=
			read -r _v </proc/$$/stat 2>/dev/null
			# shellcheck disable=SC2086
			set -- ${_v##*")"}
			case $_iso in setsid* | perl) [ "${3-}" = $$ ] && kill -KILL "-$$" 2>/dev/null ;; esac
		fi
		kill -KILL $$ 2>/dev/null
	) </dev/null >/dev/null 2>&1 3<&- &
	_timer=$!
}
watch() {
	exec 3<&0
	(
		while read -r _v; do
			[ "$_v" = ALIVE ] && lease
		done
		kill -KILL $$ "$_timer" 2>/dev/null
	) <&3 3<&- >/dev/null 2>&1 &
	_watch=$!
	exec 3<&-
}
unwatch() {
	[ -n "$_watch" ] || return 0
	kill -KILL "$_watch" 2>/dev/null
	wait "$_watch" 2>/dev/null
	_watch=
	lease
}

# ---- launch ----
take() { # LENGTH: so many bytes from the client, in _text; it may hold secrets, and is never on a disk
	_text=
	while [ "${#_text}" -lt "$1" ]; do
		_v=$(dd bs=$(($1 - ${#_text})) count=1 2>/dev/null; echo x)
		[ "$_v" = x ] && return 1
		_text=$_text${_v%x}
	done
}
receive() { # FILE LENGTH: takes so many bytes from the client and no byte more
	# Not by `:`, whose failing redirection would be the end of us.
	true 2>/dev/null >"$1" || return 2
	_h=0
	while [ "$_h" -lt "$2" ]; do
		_b=$(($2 - _h))
		[ "$_b" -gt 65536 ] && _b=65536
		dd bs="$_b" count=1 2>/dev/null >>"$1" || return 2
		# shellcheck disable=SC2046
		set -- "$1" "$2" $(ls -dln "$1" 2>/dev/null)
		# A read that adds nothing is the end of the input.
		[ "${7:-0}" -gt "$_h" ] || return 1
		_h=$7
		set -- "$1" "$2"
		lease
	done
}
discard() { # LENGTH
	_h=$1
	while [ "$_h" -gt 0 ]; do
		_b=$_h
		[ "$_b" -gt 65536 ] && _b=65536
		_b=$(dd bs="$_b" count=1 2>/dev/null | wc -c)
		[ "$_b" -gt 0 ] || return 1
		_h=$((_h - _b))
		lease
	done
}
crc() { # FILE CRC LENGTH
	# shellcheck disable=SC2046
	set -- "$2" "$3" $(cksum <"$1" 2>/dev/null)
	[ "$1" = "${3-}" ] && [ "$2" = "${4-}" ]
}
part() { # NAME LENGTH CRC
	[ "$2" = - ] && return 0
	if ! number "$2" || ! number "$3"; then not_started REFUSED usage; fi
	receive "$_mine/$1" "$2"
	case $? in 1) not_started SHORT "$1" ;; 2) not_started REFUSED nospace ;; esac
	crc "$_mine/$1" "$3" "$2" || not_started SHORT "$1"
}
not_started() { # WORD WHY: this attempt is over before its gate, and takes its spool away
	[ -n "$_mine" ] && rm -rf "$_mine"
	say "$1" "$_gen" "$2"
	exit 0
}
spawn() { # ROLE ...: detached, in a session of its own where there is a way
	export _prog _text _um _lc _path _iso _d _node _bid _ns _boot8
	case $_iso in
	setsid) setsid -f sh -c "$_role" "ssh-cli $_kh" "$@" ;;
	perl) perl -e 'use POSIX; fork and exit; POSIX::setsid(); exec @ARGV' sh -c "$_role" "ssh-cli $_kh" "$@" ;;
	setsid-) setsid sh -c "$_role" "ssh-cli $_kh" "$@" & ;;
	setm) (set -m; sh -c "$_role" "ssh-cli $_kh" "$@" &) ;;
	*) sh -c "$_role" "ssh-cli $_kh" "$@" & ;;
	esac </dev/null >/dev/null 2>&1
}
wait_for_gate() { # somebody's; or a word of our supervisor that ours will never be taken; or a fence of ours
	_i=0
	until [ -h "$_k/gate" ]; do
		if [ -h "$_mine/fail" ]; then
			rget "$_mine/fail"
			not_started REFUSED "${_v:-unknown}"
		fi
		_i=$((_i + 1))
		if [ "$_i" -gt 1200 ]; then
			# Where nobody has started it by now, nobody shall.
			ln -s 1:FENCED:broken "$_k/gate" 2>/dev/null
			[ -h "$_k/gate" ] || { say UNSETTLED "$_gen"; exit 0; }
			break
		fi
		nap 0.01
		[ $((_i % 100)) = 0 ] && lease
	done
	look "$_gen"
}

# ---- follow ----
copy() { # FILE OFFSET LENGTH: these bytes, by the dd that there is everywhere
	_b=$(((4096 - $2 % 4096) % 4096))
	[ "$_b" -gt "$3" ] && _b=$3
	if [ "$_b" -gt 0 ]; then dd if="$1" bs=1 skip="$2" count="$_b" 2>/dev/null || return 1; fi
	set -- "$1" $(($2 + _b)) $(($3 - _b))
	_b=$(($3 / 4096))
	if [ "$_b" -gt 0 ]; then dd if="$1" bs=4096 skip=$(($2 / 4096)) count="$_b" 2>/dev/null || return 1; fi
	set -- "$1" $(($2 + _b * 4096)) $(($3 - _b * 4096))
	[ "$3" = 0 ] || dd if="$1" bs=1 skip="$2" count="$3" 2>/dev/null
}
frames() { # LETTER FILE OFFSET LIMIT: the next offset in _off
	_off=$3
	while [ "$_off" -lt "$4" ]; do
		_len=$(($4 - _off))
		[ "$_len" -gt 262144 ] && _len=262144
		say "$1" "$_off" "$_len"
		copy "$_a/$2" "$_off" "$_len" || exit 1
		_off=$((_off + _len))
		_did=1
	done
}
stale() { # once a second, of one who is out of sight: its heart has not moved for fifteen
	_v=
	[ -r "$_a/hb" ] && read -r _v <"$_a/hb"
	if [ -n "$_v" ] && [ "$_v" != "$_hb" ]; then _hb=$_v _stale=0; else _stale=$((_stale + 1)); fi
	[ "$_stale" -gt 15 ]
}
sum() { # FILE LENGTH: cksum of its first bytes
	if [ "$2" = 0 ]; then _v=4294967295; return 0; fi
	# shellcheck disable=SC2046
	set -- $(copy "$_a/$1" 0 "$2" | cksum)
	_v=$1
}
finish() { # OUT ERR: what is left of both streams, and the end
	look "$_gen"
	ended
	_oc=- _ec=-
	case $_fl in
	*x*) ;;
	*)
		sizes
		[ "$_ob" -lt "$_o" ] && _o=$_ob
		[ "$_eb" -lt "$_e" ] && _e=$_eb
		frames O out "$1" "$_o"
		frames E err "$2" "$_e"
		sum out "$_o" && _oc=$_v
		sum err "$_e" && _ec=$_v
		;;
	esac
	say END "$_gen" "$_rc" "$_ob" "$_eb" "$_fl" "$_oc" "$_ec"
	lease
}
follow() { # OUT ERR: from these offsets to the end
	_fo=$1 _fe=$2 _did='' _poll=10 _idle=0 _check=0 _hb='' _stale=0
	meta
	[ -h "$_k/done" ] || watch
	while :; do
		_did=
		[ -h "$_k/done" ] && break
		sizes
		frames O out "$_fo" "$_o"
		_fo=$_off
		frames E err "$_fe" "$_e"
		_fe=$_off
		if [ "$_check" -le 0 ]; then
			_check=1000
			alive
			if [ "$_st" != running ] && [ "$_st" != orphan ] && ! [ -h "$_k/done" ]; then
				if [ "$_st" = dead ] || stale; then
					unwatch
					tell "$_gen"
					return 0
				fi
			fi
		fi
		if [ -n "$_did" ]; then _poll=10 _idle=0; elif [ "$_idle" -gt 1000 ]; then _poll=200; elif [ "$_idle" -gt 200 ]; then _poll=50; else _poll=10; fi
		_idle=$((_idle + _poll)) _check=$((_check - _poll))
		if [ "$_idle" -ge 5000 ]; then
			_idle=1001
			say TICK "$_st"
		fi
		case $_poll in 10) nap 0.01 ;; 50) nap 0.05 ;; *) nap 0.2 ;; esac
	done
	unwatch
	finish "$_fo" "$_fe"
}
go() { # GEN ATTEMPT FP DEADLINE GRACE CAP MODE TEXT CRC SCRIPT CRC INPUT CRC .
	for _v in "$1" "$4" "$5" "$6" "$8" "$9"; do
		number "$_v" || not_started REFUSED usage
	done
	case $2$3 in *[!0-9a-f]*) not_started REFUSED usage ;; esac
	case $7 in user | sh | file) ;; *) not_started REFUSED usage ;; esac
	look "$1"
	_me=$2 _myfp=$3
	if [ -z "$_gate" ]; then
		mkdir "$_k" 2>/dev/null
		_v=$_k/a.$2
		if ! mkdir "$_v" 2>/dev/null; then
			[ -d "$_v" ] && not_started REFUSED attempt
			[ -d "$_k" ] && not_started REFUSED nospace
			not_started REFUSED unwritable
		fi
		_mine=$_v
		take "$8" || not_started SHORT text
		# shellcheck disable=SC2046
		set -- "$@" $(printf %s "$_text" | cksum)
		[ "$8.$9" = "${16-}.${15-}" ] || not_started SHORT text
		part script "${10}" "${11}"
		part in "${12}" "${13}"
		# Cut in blocks of 64 KiB.
		_cap=$(($6 / 65536 * 65536))
		{ printf '%s:%s:%s\n' "$_cap" "$5" "$_iso" >"$_mine/meta" && true >"$_mine/out" && true >"$_mine/err"; } 2>/dev/null
		if ! [ -s "$_mine/meta" ] || ! [ -f "$_mine/err" ]; then not_started REFUSED nospace; fi
		spawn sup "$1" "$2" "$3" "$4" "$7"
		_text=
		wait_for_gate
	else
		discard "$8"
		[ "${10}" = - ] || discard "${10}"
		[ "${12}" = - ] || discard "${12}"
	fi
	if [ -n "$_why" ]; then
		say FENCED "$_gen" "$_why"
	elif [ "$_fp" != "$_myfp" ]; then
		say MISMATCH "$_gen" "$_at" "$_fp"
	elif [ "$_at" = "$_me" ]; then
		say STARTED "$_gen" "$_at" "$_iso" "$_sig" "$_det"
		follow 0 0
	else
		say EXISTS "$_gen" "$_at"
		follow 0 0
	fi
}

# ---- what else a client may ask ----
fence() { # GEN WHY
	mkdir "$_d/k/$_kh.$1" 2>/dev/null
	ln -s "1:FENCED:$2" "$_d/k/$_kh.$1/gate" 2>/dev/null
	[ -h "$_d/k/$_kh.$1/gate" ] || { say REFUSED "$1" unwritable; return 1; }
	look "$1"
}
cancel() { # GEN GRACE
	fence "$1" cancel || return 0
	judge "$1"
	case $_st in
	running | orphan | foreign)
		rset "$_a/cancel" 1
		meta
		if [ "$_st" != foreign ]; then
			stop
			_i=$(($2 / 20))
			while [ "$_i" -gt 0 ] && group; do nap 0.02; _i=$((_i - 1)); done
			signal KILL
		fi
		# Its end is published by those who keep it; out of sight they look once a second.
		_i=0
		while [ "$_i" -lt 50 ] && ! [ -h "$_k/done" ]; do
			if [ "$_st" = foreign ]; then nap 0.2; elif group; then :; elif [ "$?" = 2 ]; then break; fi
			nap 0.05
			_i=$((_i + 1))
			lease
		done
		if [ "$_st" != foreign ]; then
			group
			[ "$?" = 2 ] && say REFUSED "$1" cancel_refused
		fi
		;;
	esac
	tell "$1"
}
acknowledge() { # GEN: the client has it; the registers stay, and both streams for another day
	judge "$1"
	if [ "$_st" = "done" ] && rset "$_k/ack" 1; then
		rm -f "$_a/script" "$_a/in"
		say ACKED "$1"
	else
		say REFUSED "$1" "$_st"
	fi
}
resolve() { # GEN done STATUS | GEN notdone: what a person says, where nothing else can be known
	if [ "$2" = notdone ]; then fence "$1" resolve || return 0; fi
	judge "$1"
	if [ "$_st" = foreign ]; then
		meta
		_hb='' _stale=0
		stale
		_i=$_stale
		# Twice the heart must move in front of us.
		while ! stale; do
			[ "$_stale" = 0 ] && _i=$((_i + 1))
			[ "$_i" -gt 2 ] && break
			nap 1
			lease
		done
		[ "$_stale" -gt 15 ] && _st=dead
	fi
	case $_st:$_done in done:-:*) _st=dead ;; esac
	case $_st:$2 in
	dead:notdone) rset "$_k/settled" notdone ;;
	dead:done | none:done | fenced:done)
		mkdir "$_k" 2>/dev/null
		# Nothing may start any more, and a status that a process has published stays.
		fence "$1" resolve && rset "$_k/settled" "done-$3" && rset "$_k/done" "$3:0:0:o"
		;;
	running:* | orphan:* | foreign:*) say REFUSED "$1" "$_st" ;;
	esac
	tell "$1"
}

# ---- the conversation ----
talk() {
	exec 2>/dev/null
	whoami_and_where
	host
	printf '\n'
	say HELLO 1 "$_rid" "$_node" "$_bid" "$_ns" "$_uid" "$_d"
	[ "$_g0" = 0 ] || tell "$_g0"
	# While the client makes up its mind.
	detachment
	timer
	while read -r _line; do
		lease
		# shellcheck disable=SC2086
		set -- $_line
		[ "${1-}" = BYE ] && break
		number "${2-}" || continue
		case $#:$1 in
		15:GO) shift; go "$@" ;;
		5:ATTACH)
			look "$2"
			if number "$3" && number "$4" && [ -n "$_gate$_done" ] && [ -z "$_why" ]; then follow "$3" "$4"; else tell "$2"; fi
			;;
		3:STATE) tell "$2" ;;
		3:FENCE) fence "$2" resolve && tell "$2" ;;
		4:CANCEL) number "$3" && cancel "$2" "$3" ;;
		3:ACK) acknowledge "$2" ;;
		4:RESOLVE) [ "$3" = notdone ] && resolve "$2" notdone ;;
		5:RESOLVE) [ "$3" = 'done' ] && number "$4" && resolve "$2" 'done' "$4" ;;
		3:GC) gc; say GC "$2" ;;
		esac
	done
	[ -n "$_timer" ] && kill -KILL "$_timer"
	exit 0
}
talk
