# Print an optspec for argparse to handle cmd's options that are independent of any subcommand.
function __fish_ssh_cli_global_optspecs
    string join \n output= json raw detail v/verbose h/help V/version
end

function __fish_ssh_cli_needs_command
    # Figure out if the current invocation already has a command.
    set -l cmd (commandline -opc)
    set -e cmd[1]
    argparse -s (__fish_ssh_cli_global_optspecs) -- $cmd 2>/dev/null
    or return
    if set -q argv[1]
        # Also print the command, so this can be used to figure out what it is.
        echo $argv[1]
        return 1
    end
    return 0
end

function __fish_ssh_cli_using_subcommand
    set -l cmd (__fish_ssh_cli_needs_command)
    test -z "$cmd"
    and return 1
    contains -- $cmd[1] $argv
end

complete -c ssh-cli -n "__fish_ssh_cli_needs_command" -l output -d 'The form of the output [default: raw when standard output is a terminal, else json]' -r -f -a "json\t'One JSON document at the end'
ndjson\t'One JSON event a line, as it happens'
raw\t'The remote bytes, live; failures in words on standard error'"
complete -c ssh-cli -n "__fish_ssh_cli_needs_command" -l json -d 'Short for --output json'
complete -c ssh-cli -n "__fish_ssh_cli_needs_command" -l raw -d 'Short for --output raw'
complete -c ssh-cli -n "__fish_ssh_cli_needs_command" -l detail -d 'Every field of the envelope'
complete -c ssh-cli -n "__fish_ssh_cli_needs_command" -s v -l verbose -d 'Log to standard error; repeat it for more'
complete -c ssh-cli -n "__fish_ssh_cli_needs_command" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ssh-cli -n "__fish_ssh_cli_needs_command" -s V -l version -d 'Print version'
complete -c ssh-cli -n "__fish_ssh_cli_needs_command" -f -a "exec" -d 'Run one command on another machine'
complete -c ssh-cli -n "__fish_ssh_cli_needs_command" -f -a "scp" -d 'Copy files to or from another machine'
complete -c ssh-cli -n "__fish_ssh_cli_needs_command" -f -a "sudo-exec" -d 'Run one command with another user\'s rights, by sudo'
complete -c ssh-cli -n "__fish_ssh_cli_needs_command" -f -a "su-exec" -d 'Run one command with another user\'s rights, by su'
complete -c ssh-cli -n "__fish_ssh_cli_needs_command" -f -a "check" -d 'Connect and authenticate, run nothing, and say what each phase came to'
complete -c ssh-cli -n "__fish_ssh_cli_needs_command" -f -a "schema" -d 'Print a JSON Schema, the error codes or tool definitions'
complete -c ssh-cli -n "__fish_ssh_cli_needs_command" -f -a "exit-codes" -d 'Print what each exit code means'
complete -c ssh-cli -n "__fish_ssh_cli_needs_command" -f -a "completions" -d 'Print a completion script for a shell'
complete -c ssh-cli -n "__fish_ssh_cli_needs_command" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand exec" -s F -l config -d '`ssh_config` to read instead of the user\'s and the system\'s; `none` reads none' -r -F
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand exec" -s o -l option -d 'One `ssh_config` option, as in OpenSSH; repeatable, and stronger than the file' -r
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand exec" -s l -l user -d 'The remote user [default: from the config, else the local user]' -r
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand exec" -s p -s P -l port -d 'The port [default: from the config, else 22]' -r
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand exec" -s i -l identity -d 'Only this key; repeatable' -r -F
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand exec" -s J -l jump -d 'Bastions to go through, in this order [default: `ProxyJump`, `ProxyCommand`]' -r
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand exec" -l password -d 'Where the password comes from; nothing is ever asked for without it' -r
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand exec" -l passphrase -d 'Where the passphrase of an encrypted key comes from (a SRC, as for --password)' -r
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand exec" -l otp -d 'Where a one-time code comes from (a SRC, as for --password); asked anew at each attempt' -r
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand exec" -l host-key-policy -d 'How the host key is judged [default: `StrictHostKeyChecking`, else strict]' -r -f -a "strict\t'Only keys that are known'
accept-new\t'A key seen for the first time is remembered, a changed one refused'
insecure\t'Nothing is checked: whoever answers gets the session'"
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand exec" -l host-key -d 'Accept exactly this host key for DEST, and write nothing; repeatable' -r
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand exec" -l connect-timeout -d 'Limit of one attempt, until the channel is open, all hops together [default: 15s]' -r
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand exec" -l deadline -d 'Limit of the whole invocation, retries and waits included; when it is over the run ends as by --timeout' -r
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand exec" -l keepalive -d 'A silent connection is probed this often, and lost after three unanswered probes; 0 turns it off [default: 15s]' -r
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand exec" -l stdin-file -d 'Send this file to the command\'s standard input; `-` is --stdin' -r -F
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand exec" -l script -d 'Run this local script with `sh`, or with what its `#!` line names; `-` is standard input' -r -F
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand exec" -l cwd -d 'The directory to run in; needs a POSIX shell there' -r
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand exec" -l env -d 'Set a variable for the command; repeatable; needs a POSIX shell there' -r
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand exec" -l secret-env -d 'Set a variable from a SRC; repeatable. It never appears in the command\'s text' -r
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand exec" -l timeout -d 'Limit of the run; then INT, TERM and KILL to the command, and a report whether it stopped' -r
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand exec" -l effect -d 'What running it a second time would do' -r -f -a "read\t'Nothing: it only looks'
idempotent\t'Nothing more than the first time'
write\t'It again'"
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand exec" -l retries -d 'Try again so often after a failure that is transient and safe to repeat, at most 10 times [default: 0]' -r
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand exec" -l retry-base -d 'The base of the waits: each is drawn from 0 to base times 2^attempt [default: 200ms]' -r
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand exec" -l retry-max-delay -d 'The longest wait, at most 60s [default: 5s]' -r
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand exec" -l retry-wait -d 'Wait exactly so long instead of the draw, but never over the longest wait' -r
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand exec" -l max-output -d 'The most of each stream in the envelope, as encoded; the head and the tail are kept, cut at lines [default: 8KiB]' -r
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand exec" -l stdout-file -d 'Write the exact bytes of standard output here, in place once the run has ended; implies --json' -r -F
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand exec" -l output -d 'The form of the output [default: raw when standard output is a terminal, else json]' -r -f -a "json\t'One JSON document at the end'
ndjson\t'One JSON event a line, as it happens'
raw\t'The remote bytes, live; failures in words on standard error'"
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand exec" -l stdin -d 'Send our standard input to the command, and its end'
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand exec" -s n -d 'Our standard input is not meant: neither refuse a file there nor warn about waiting data'
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand exec" -l argv -d 'Quote even a single word for the remote shell (for `"$@"` in scripts)'
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand exec" -l login -d 'Run through a login shell, with its PATH; needs a POSIX shell there'
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand exec" -l pty -d 'Ask for a terminal there; both streams become one'
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand exec" -l no-exit-status -d 'For gear that never sends an exit status: an orderly end is success, with a warning'
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand exec" -l no-spill -d 'Do not keep a cut stream whole in the state directory'
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand exec" -l base64 -d 'Put a stream with NUL bytes into the envelope as base64, where it fits; implies --json'
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand exec" -l remote-exit -d 'End with the remote status: 1-63 and 79-254 pass, signals as 128+n, all else that is not 0 is 1'
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand exec" -l json -d 'Short for --output json'
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand exec" -l raw -d 'Short for --output raw'
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand exec" -l detail -d 'Every field of the envelope'
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand exec" -s v -l verbose -d 'Log to standard error; repeat it for more'
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand exec" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand scp" -s F -l config -d '`ssh_config` to read instead of the user\'s and the system\'s; `none` reads none' -r -F
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand scp" -s o -l option -d 'One `ssh_config` option, as in OpenSSH; repeatable, and stronger than the file' -r
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand scp" -s l -l user -d 'The remote user [default: from the config, else the local user]' -r
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand scp" -s p -s P -l port -d 'The port [default: from the config, else 22]' -r
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand scp" -s i -l identity -d 'Only this key; repeatable' -r -F
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand scp" -s J -l jump -d 'Bastions to go through, in this order [default: `ProxyJump`, `ProxyCommand`]' -r
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand scp" -l password -d 'Where the password comes from; nothing is ever asked for without it' -r
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand scp" -l passphrase -d 'Where the passphrase of an encrypted key comes from (a SRC, as for --password)' -r
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand scp" -l otp -d 'Where a one-time code comes from (a SRC, as for --password); asked anew at each attempt' -r
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand scp" -l host-key-policy -d 'How the host key is judged [default: `StrictHostKeyChecking`, else strict]' -r -f -a "strict\t'Only keys that are known'
accept-new\t'A key seen for the first time is remembered, a changed one refused'
insecure\t'Nothing is checked: whoever answers gets the session'"
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand scp" -l host-key -d 'Accept exactly this host key for DEST, and write nothing; repeatable' -r
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand scp" -l connect-timeout -d 'Limit of one attempt, until the channel is open, all hops together [default: 15s]' -r
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand scp" -l deadline -d 'Limit of the whole invocation, retries and waits included; when it is over the run ends as by --timeout' -r
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand scp" -l keepalive -d 'A silent connection is probed this often, and lost after three unanswered probes; 0 turns it off [default: 15s]' -r
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand scp" -l protocol -d 'How the two sides speak' -r -f -a "auto\t'SFTP, and the legacy protocol where there is none'
sftp\t'SFTP'
scp\t'The legacy protocol, that of `scp -O`'"
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand scp" -l mode -d 'The permission bits of the files that are written, from 0 to 0777 [default: those of a file that is replaced, else of the source]' -r
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand scp" -l symlinks -d 'What becomes of a symbolic link among the sources' -r -f -a "follow\t'What it leads to is copied'
keep\t'It is copied as a link'
skip\t'It is left out, and listed'"
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand scp" -l progress -d 'When standard error says how far it is' -r -f -a "auto\t'Where standard error is a terminal'
always\t'Always'
never\t'Never'"
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand scp" -l timeout -d 'Limit of the copy; what is not finished then is removed' -r
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand scp" -l effect -d 'What copying a second time would do [default: idempotent for an upload, read for a download]' -r -f -a "read\t'Nothing: it only looks'
idempotent\t'Nothing more than the first time'
write\t'It again'"
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand scp" -l as -d 'Whose rights [default: root]' -r
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand scp" -l sudo-password -d 'Where the password for sudo is (a SRC); without it sudo is told not to ask' -r
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand scp" -l owner -d 'Who is to own what is copied, by name or number [default: the owner of a file that is replaced, else USER]' -r
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand scp" -l group -d 'The group of what is copied, by name or number [default: that of a file that is replaced, else USER\'s]' -r
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand scp" -l retries -d 'Try again so often after a failure that is transient and safe to repeat, at most 10 times [default: 0]' -r
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand scp" -l retry-base -d 'The base of the waits: each is drawn from 0 to base times 2^attempt [default: 200ms]' -r
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand scp" -l retry-max-delay -d 'The longest wait, at most 60s [default: 5s]' -r
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand scp" -l retry-wait -d 'Wait exactly so long instead of the draw, but never over the longest wait' -r
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand scp" -l output -d 'The form of the output [default: raw when standard output is a terminal, else json]' -r -f -a "json\t'One JSON document at the end'
ndjson\t'One JSON event a line, as it happens'
raw\t'The remote bytes, live; failures in words on standard error'"
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand scp" -s r -l recursive -d 'Copy directories, with all that is in them'
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand scp" -l preserve -d 'Keep modification times, in whole seconds, and permission bits'
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand scp" -l verify -d 'Compare the SHA-256 of both sides before a file takes its place'
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand scp" -l resume -d 'Continue what an earlier attempt began, where it is proven to be the beginning of the same file'
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand scp" -l parents -d 'Make the directories on the way to TARGET'
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand scp" -l no-clobber -d 'Leave a file that is there as it is'
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand scp" -l in-place -d 'Write into the target itself'
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand scp" -l sudo -d 'Read and write on the host with another user\'s rights, by its sudo'
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand scp" -l json -d 'Short for --output json'
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand scp" -l raw -d 'Short for --output raw'
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand scp" -l detail -d 'Every field of the envelope'
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand scp" -s v -l verbose -d 'Log to standard error; repeat it for more'
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand scp" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand sudo-exec" -l as -d 'Who runs the command there' -r
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand sudo-exec" -l sudo-password -d 'Where the password for sudo is (a SRC); without it sudo is told not to ask' -r
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand sudo-exec" -s F -l config -d '`ssh_config` to read instead of the user\'s and the system\'s; `none` reads none' -r -F
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand sudo-exec" -s o -l option -d 'One `ssh_config` option, as in OpenSSH; repeatable, and stronger than the file' -r
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand sudo-exec" -s l -l user -d 'The remote user [default: from the config, else the local user]' -r
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand sudo-exec" -s p -s P -l port -d 'The port [default: from the config, else 22]' -r
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand sudo-exec" -s i -l identity -d 'Only this key; repeatable' -r -F
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand sudo-exec" -s J -l jump -d 'Bastions to go through, in this order [default: `ProxyJump`, `ProxyCommand`]' -r
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand sudo-exec" -l password -d 'Where the password comes from; nothing is ever asked for without it' -r
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand sudo-exec" -l passphrase -d 'Where the passphrase of an encrypted key comes from (a SRC, as for --password)' -r
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand sudo-exec" -l otp -d 'Where a one-time code comes from (a SRC, as for --password); asked anew at each attempt' -r
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand sudo-exec" -l host-key-policy -d 'How the host key is judged [default: `StrictHostKeyChecking`, else strict]' -r -f -a "strict\t'Only keys that are known'
accept-new\t'A key seen for the first time is remembered, a changed one refused'
insecure\t'Nothing is checked: whoever answers gets the session'"
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand sudo-exec" -l host-key -d 'Accept exactly this host key for DEST, and write nothing; repeatable' -r
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand sudo-exec" -l connect-timeout -d 'Limit of one attempt, until the channel is open, all hops together [default: 15s]' -r
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand sudo-exec" -l deadline -d 'Limit of the whole invocation, retries and waits included; when it is over the run ends as by --timeout' -r
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand sudo-exec" -l keepalive -d 'A silent connection is probed this often, and lost after three unanswered probes; 0 turns it off [default: 15s]' -r
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand sudo-exec" -l stdin-file -d 'Send this file to the command\'s standard input; `-` is --stdin' -r -F
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand sudo-exec" -l script -d 'Run this local script with `sh`, or with what its `#!` line names; `-` is standard input' -r -F
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand sudo-exec" -l cwd -d 'The directory to run in; needs a POSIX shell there' -r
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand sudo-exec" -l env -d 'Set a variable for the command; repeatable; needs a POSIX shell there' -r
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand sudo-exec" -l secret-env -d 'Set a variable from a SRC; repeatable. It never appears in the command\'s text' -r
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand sudo-exec" -l timeout -d 'Limit of the run; then INT, TERM and KILL to the command, and a report whether it stopped' -r
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand sudo-exec" -l effect -d 'What running it a second time would do' -r -f -a "read\t'Nothing: it only looks'
idempotent\t'Nothing more than the first time'
write\t'It again'"
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand sudo-exec" -l retries -d 'Try again so often after a failure that is transient and safe to repeat, at most 10 times [default: 0]' -r
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand sudo-exec" -l retry-base -d 'The base of the waits: each is drawn from 0 to base times 2^attempt [default: 200ms]' -r
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand sudo-exec" -l retry-max-delay -d 'The longest wait, at most 60s [default: 5s]' -r
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand sudo-exec" -l retry-wait -d 'Wait exactly so long instead of the draw, but never over the longest wait' -r
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand sudo-exec" -l max-output -d 'The most of each stream in the envelope, as encoded; the head and the tail are kept, cut at lines [default: 8KiB]' -r
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand sudo-exec" -l stdout-file -d 'Write the exact bytes of standard output here, in place once the run has ended; implies --json' -r -F
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand sudo-exec" -l output -d 'The form of the output [default: raw when standard output is a terminal, else json]' -r -f -a "json\t'One JSON document at the end'
ndjson\t'One JSON event a line, as it happens'
raw\t'The remote bytes, live; failures in words on standard error'"
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand sudo-exec" -l sudo-direct -d 'Let sudo start the program itself, without a shell, where that is all it permits'
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand sudo-exec" -l stdin -d 'Send our standard input to the command, and its end'
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand sudo-exec" -s n -d 'Our standard input is not meant: neither refuse a file there nor warn about waiting data'
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand sudo-exec" -l argv -d 'Quote even a single word for the remote shell (for `"$@"` in scripts)'
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand sudo-exec" -l login -d 'Run through a login shell, with its PATH; needs a POSIX shell there'
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand sudo-exec" -l pty -d 'Ask for a terminal there; both streams become one'
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand sudo-exec" -l no-exit-status -d 'For gear that never sends an exit status: an orderly end is success, with a warning'
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand sudo-exec" -l no-spill -d 'Do not keep a cut stream whole in the state directory'
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand sudo-exec" -l base64 -d 'Put a stream with NUL bytes into the envelope as base64, where it fits; implies --json'
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand sudo-exec" -l remote-exit -d 'End with the remote status: 1-63 and 79-254 pass, signals as 128+n, all else that is not 0 is 1'
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand sudo-exec" -l json -d 'Short for --output json'
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand sudo-exec" -l raw -d 'Short for --output raw'
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand sudo-exec" -l detail -d 'Every field of the envelope'
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand sudo-exec" -s v -l verbose -d 'Log to standard error; repeat it for more'
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand sudo-exec" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand su-exec" -l as -d 'Who runs the command there' -r
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand su-exec" -l su-password -d 'Where the password of that user is (a SRC)' -r
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand su-exec" -s F -l config -d '`ssh_config` to read instead of the user\'s and the system\'s; `none` reads none' -r -F
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand su-exec" -s o -l option -d 'One `ssh_config` option, as in OpenSSH; repeatable, and stronger than the file' -r
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand su-exec" -s l -l user -d 'The remote user [default: from the config, else the local user]' -r
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand su-exec" -s p -s P -l port -d 'The port [default: from the config, else 22]' -r
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand su-exec" -s i -l identity -d 'Only this key; repeatable' -r -F
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand su-exec" -s J -l jump -d 'Bastions to go through, in this order [default: `ProxyJump`, `ProxyCommand`]' -r
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand su-exec" -l password -d 'Where the password comes from; nothing is ever asked for without it' -r
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand su-exec" -l passphrase -d 'Where the passphrase of an encrypted key comes from (a SRC, as for --password)' -r
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand su-exec" -l otp -d 'Where a one-time code comes from (a SRC, as for --password); asked anew at each attempt' -r
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand su-exec" -l host-key-policy -d 'How the host key is judged [default: `StrictHostKeyChecking`, else strict]' -r -f -a "strict\t'Only keys that are known'
accept-new\t'A key seen for the first time is remembered, a changed one refused'
insecure\t'Nothing is checked: whoever answers gets the session'"
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand su-exec" -l host-key -d 'Accept exactly this host key for DEST, and write nothing; repeatable' -r
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand su-exec" -l connect-timeout -d 'Limit of one attempt, until the channel is open, all hops together [default: 15s]' -r
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand su-exec" -l deadline -d 'Limit of the whole invocation, retries and waits included; when it is over the run ends as by --timeout' -r
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand su-exec" -l keepalive -d 'A silent connection is probed this often, and lost after three unanswered probes; 0 turns it off [default: 15s]' -r
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand su-exec" -l stdin-file -d 'Send this file to the command\'s standard input; `-` is --stdin' -r -F
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand su-exec" -l script -d 'Run this local script with `sh`, or with what its `#!` line names; `-` is standard input' -r -F
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand su-exec" -l cwd -d 'The directory to run in; needs a POSIX shell there' -r
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand su-exec" -l env -d 'Set a variable for the command; repeatable; needs a POSIX shell there' -r
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand su-exec" -l secret-env -d 'Set a variable from a SRC; repeatable. It never appears in the command\'s text' -r
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand su-exec" -l timeout -d 'Limit of the run; then INT, TERM and KILL to the command, and a report whether it stopped' -r
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand su-exec" -l effect -d 'What running it a second time would do' -r -f -a "read\t'Nothing: it only looks'
idempotent\t'Nothing more than the first time'
write\t'It again'"
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand su-exec" -l retries -d 'Try again so often after a failure that is transient and safe to repeat, at most 10 times [default: 0]' -r
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand su-exec" -l retry-base -d 'The base of the waits: each is drawn from 0 to base times 2^attempt [default: 200ms]' -r
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand su-exec" -l retry-max-delay -d 'The longest wait, at most 60s [default: 5s]' -r
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand su-exec" -l retry-wait -d 'Wait exactly so long instead of the draw, but never over the longest wait' -r
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand su-exec" -l max-output -d 'The most of each stream in the envelope, as encoded; the head and the tail are kept, cut at lines [default: 8KiB]' -r
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand su-exec" -l stdout-file -d 'Write the exact bytes of standard output here, in place once the run has ended; implies --json' -r -F
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand su-exec" -l output -d 'The form of the output [default: raw when standard output is a terminal, else json]' -r -f -a "json\t'One JSON document at the end'
ndjson\t'One JSON event a line, as it happens'
raw\t'The remote bytes, live; failures in words on standard error'"
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand su-exec" -l stdin -d 'Send our standard input to the command, and its end'
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand su-exec" -s n -d 'Our standard input is not meant: neither refuse a file there nor warn about waiting data'
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand su-exec" -l argv -d 'Quote even a single word for the remote shell (for `"$@"` in scripts)'
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand su-exec" -l login -d 'Run through a login shell, with its PATH; needs a POSIX shell there'
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand su-exec" -l pty -d 'Ask for a terminal there; both streams become one'
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand su-exec" -l no-exit-status -d 'For gear that never sends an exit status: an orderly end is success, with a warning'
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand su-exec" -l no-spill -d 'Do not keep a cut stream whole in the state directory'
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand su-exec" -l base64 -d 'Put a stream with NUL bytes into the envelope as base64, where it fits; implies --json'
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand su-exec" -l remote-exit -d 'End with the remote status: 1-63 and 79-254 pass, signals as 128+n, all else that is not 0 is 1'
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand su-exec" -l json -d 'Short for --output json'
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand su-exec" -l raw -d 'Short for --output raw'
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand su-exec" -l detail -d 'Every field of the envelope'
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand su-exec" -s v -l verbose -d 'Log to standard error; repeat it for more'
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand su-exec" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand check" -s F -l config -d '`ssh_config` to read instead of the user\'s and the system\'s; `none` reads none' -r -F
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand check" -s o -l option -d 'One `ssh_config` option, as in OpenSSH; repeatable, and stronger than the file' -r
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand check" -s l -l user -d 'The remote user [default: from the config, else the local user]' -r
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand check" -s p -s P -l port -d 'The port [default: from the config, else 22]' -r
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand check" -s i -l identity -d 'Only this key; repeatable' -r -F
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand check" -s J -l jump -d 'Bastions to go through, in this order [default: `ProxyJump`, `ProxyCommand`]' -r
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand check" -l password -d 'Where the password comes from; nothing is ever asked for without it' -r
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand check" -l passphrase -d 'Where the passphrase of an encrypted key comes from (a SRC, as for --password)' -r
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand check" -l otp -d 'Where a one-time code comes from (a SRC, as for --password); asked anew at each attempt' -r
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand check" -l host-key-policy -d 'How the host key is judged [default: `StrictHostKeyChecking`, else strict]' -r -f -a "strict\t'Only keys that are known'
accept-new\t'A key seen for the first time is remembered, a changed one refused'
insecure\t'Nothing is checked: whoever answers gets the session'"
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand check" -l host-key -d 'Accept exactly this host key for DEST, and write nothing; repeatable' -r
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand check" -l connect-timeout -d 'Limit of one attempt, until the channel is open, all hops together [default: 15s]' -r
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand check" -l deadline -d 'Limit of the whole invocation, retries and waits included; when it is over the run ends as by --timeout' -r
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand check" -l keepalive -d 'A silent connection is probed this often, and lost after three unanswered probes; 0 turns it off [default: 15s]' -r
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand check" -l retries -d 'Try again so often after a failure that is transient and safe to repeat, at most 10 times [default: 0]' -r
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand check" -l retry-base -d 'The base of the waits: each is drawn from 0 to base times 2^attempt [default: 200ms]' -r
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand check" -l retry-max-delay -d 'The longest wait, at most 60s [default: 5s]' -r
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand check" -l retry-wait -d 'Wait exactly so long instead of the draw, but never over the longest wait' -r
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand check" -l output -d 'The form of the output [default: raw when standard output is a terminal, else json]' -r -f -a "json\t'One JSON document at the end'
ndjson\t'One JSON event a line, as it happens'
raw\t'The remote bytes, live; failures in words on standard error'"
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand check" -l offline -d 'Print the resolved target, and touch no network'
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand check" -l json -d 'Short for --output json'
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand check" -l raw -d 'Short for --output raw'
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand check" -l detail -d 'Every field of the envelope'
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand check" -s v -l verbose -d 'Log to standard error; repeat it for more'
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand check" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand schema" -l output -d 'The form of the output [default: raw when standard output is a terminal, else json]' -r -f -a "json\t'One JSON document at the end'
ndjson\t'One JSON event a line, as it happens'
raw\t'The remote bytes, live; failures in words on standard error'"
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand schema" -l json -d 'Short for --output json'
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand schema" -l raw -d 'Short for --output raw'
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand schema" -l detail -d 'Every field of the envelope'
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand schema" -s v -l verbose -d 'Log to standard error; repeat it for more'
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand schema" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand exit-codes" -l output -d 'The form of the output [default: raw when standard output is a terminal, else json]' -r -f -a "json\t'One JSON document at the end'
ndjson\t'One JSON event a line, as it happens'
raw\t'The remote bytes, live; failures in words on standard error'"
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand exit-codes" -l json -d 'Short for --output json'
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand exit-codes" -l raw -d 'Short for --output raw'
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand exit-codes" -l detail -d 'Every field of the envelope'
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand exit-codes" -s v -l verbose -d 'Log to standard error; repeat it for more'
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand exit-codes" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand completions" -l output -d 'The form of the output [default: raw when standard output is a terminal, else json]' -r -f -a "json\t'One JSON document at the end'
ndjson\t'One JSON event a line, as it happens'
raw\t'The remote bytes, live; failures in words on standard error'"
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand completions" -l json -d 'Short for --output json'
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand completions" -l raw -d 'Short for --output raw'
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand completions" -l detail -d 'Every field of the envelope'
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand completions" -s v -l verbose -d 'Log to standard error; repeat it for more'
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand completions" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand help; and not __fish_seen_subcommand_from exec scp sudo-exec su-exec check schema exit-codes completions help" -f -a "exec" -d 'Run one command on another machine'
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand help; and not __fish_seen_subcommand_from exec scp sudo-exec su-exec check schema exit-codes completions help" -f -a "scp" -d 'Copy files to or from another machine'
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand help; and not __fish_seen_subcommand_from exec scp sudo-exec su-exec check schema exit-codes completions help" -f -a "sudo-exec" -d 'Run one command with another user\'s rights, by sudo'
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand help; and not __fish_seen_subcommand_from exec scp sudo-exec su-exec check schema exit-codes completions help" -f -a "su-exec" -d 'Run one command with another user\'s rights, by su'
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand help; and not __fish_seen_subcommand_from exec scp sudo-exec su-exec check schema exit-codes completions help" -f -a "check" -d 'Connect and authenticate, run nothing, and say what each phase came to'
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand help; and not __fish_seen_subcommand_from exec scp sudo-exec su-exec check schema exit-codes completions help" -f -a "schema" -d 'Print a JSON Schema, the error codes or tool definitions'
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand help; and not __fish_seen_subcommand_from exec scp sudo-exec su-exec check schema exit-codes completions help" -f -a "exit-codes" -d 'Print what each exit code means'
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand help; and not __fish_seen_subcommand_from exec scp sudo-exec su-exec check schema exit-codes completions help" -f -a "completions" -d 'Print a completion script for a shell'
complete -c ssh-cli -n "__fish_ssh_cli_using_subcommand help; and not __fish_seen_subcommand_from exec scp sudo-exec su-exec check schema exit-codes completions help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
