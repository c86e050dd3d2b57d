
use builtin;
use str;

set edit:completion:arg-completer[ssh-cli] = {|@words|
    fn spaces {|n|
        builtin:repeat $n ' ' | str:join ''
    }
    fn cand {|text desc|
        edit:complex-candidate $text &display=$text' '(spaces (- 14 (wcswidth $text)))$desc
    }
    var command = 'ssh-cli'
    for word $words[1..-1] {
        if (str:has-prefix $word '-') {
            break
        }
        set command = $command';'$word
    }
    var completions = [
        &'ssh-cli'= {
            cand --output 'The form of the output [default: raw when standard output is a terminal, else json]'
            cand --json 'Short for --output json'
            cand --raw 'Short for --output raw'
            cand --detail 'Every field of the envelope'
            cand -v 'Log to standard error; repeat it for more'
            cand --verbose 'Log to standard error; repeat it for more'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
            cand -V 'Print version'
            cand --version 'Print version'
            cand exec 'Run one command on another machine'
            cand scp 'Copy files to or from another machine'
            cand check 'Connect and authenticate, run nothing, and say what each phase came to'
            cand schema 'Print a JSON Schema, the error codes or tool definitions'
            cand exit-codes 'Print what each exit code means'
            cand completions 'Print a completion script for a shell'
            cand help 'Print this message or the help of the given subcommand(s)'
        }
        &'ssh-cli;exec'= {
            cand -F '`ssh_config` to read instead of the user''s and the system''s; `none` reads none'
            cand --config '`ssh_config` to read instead of the user''s and the system''s; `none` reads none'
            cand -o 'One `ssh_config` option, as in OpenSSH; repeatable, and stronger than the file'
            cand --option 'One `ssh_config` option, as in OpenSSH; repeatable, and stronger than the file'
            cand -l 'The remote user [default: from the config, else the local user]'
            cand --user 'The remote user [default: from the config, else the local user]'
            cand -p 'The port [default: from the config, else 22]'
            cand -P 'The port [default: from the config, else 22]'
            cand --port 'The port [default: from the config, else 22]'
            cand -i 'Only this key; repeatable'
            cand --identity 'Only this key; repeatable'
            cand -J 'Bastions to go through, in this order [default: `ProxyJump`, `ProxyCommand`]'
            cand --jump 'Bastions to go through, in this order [default: `ProxyJump`, `ProxyCommand`]'
            cand --password 'Where the password comes from; nothing is ever asked for without it'
            cand --passphrase 'Where the passphrase of an encrypted key comes from (a SRC, as for --password)'
            cand --otp 'Where a one-time code comes from (a SRC, as for --password); asked anew at each attempt'
            cand --host-key-policy 'How the host key is judged [default: `StrictHostKeyChecking`, else strict]'
            cand --host-key 'Accept exactly this host key for DEST, and write nothing; repeatable'
            cand --connect-timeout 'Limit of one attempt, until the channel is open, all hops together [default: 15s]'
            cand --deadline 'Limit of the whole invocation, retries and waits included; when it is over the run ends as by --timeout'
            cand --keepalive 'A silent connection is probed this often, and lost after three unanswered probes; 0 turns it off [default: 15s]'
            cand --stdin-file 'Send this file to the command''s standard input; `-` is --stdin'
            cand --script 'Run this local script with `sh`, or with what its `#!` line names; `-` is standard input'
            cand --cwd 'The directory to run in; needs a POSIX shell there'
            cand --env 'Set a variable for the command; repeatable; needs a POSIX shell there'
            cand --secret-env 'Set a variable from a SRC; repeatable. It never appears in the command''s text'
            cand --timeout 'Limit of the run; then INT, TERM and KILL to the command, and a report whether it stopped'
            cand --effect 'What running it a second time would do'
            cand --retries 'Try again so often after a failure that is transient and safe to repeat, at most 10 times [default: 0]'
            cand --retry-base 'The base of the waits: each is drawn from 0 to base times 2^attempt [default: 200ms]'
            cand --retry-max-delay 'The longest wait, at most 60s [default: 5s]'
            cand --retry-wait 'Wait exactly so long instead of the draw, but never over the longest wait'
            cand --max-output 'The most of each stream in the envelope, as encoded; the head and the tail are kept, cut at lines [default: 8KiB]'
            cand --stdout-file 'Write the exact bytes of standard output here, in place once the run has ended; implies --json'
            cand --output 'The form of the output [default: raw when standard output is a terminal, else json]'
            cand --stdin 'Send our standard input to the command, and its end'
            cand -n 'Our standard input is not meant: neither refuse a file there nor warn about waiting data'
            cand --argv 'Quote even a single word for the remote shell (for `"$@"` in scripts)'
            cand --login 'Run through a login shell, with its PATH; needs a POSIX shell there'
            cand --pty 'Ask for a terminal there; both streams become one'
            cand --no-exit-status 'For gear that never sends an exit status: an orderly end is success, with a warning'
            cand --no-spill 'Do not keep a cut stream whole in the state directory'
            cand --base64 'Put a stream with NUL bytes into the envelope as base64, where it fits; implies --json'
            cand --remote-exit 'End with the remote status: 1-63 and 79-254 pass, signals as 128+n, all else that is not 0 is 1'
            cand --json 'Short for --output json'
            cand --raw 'Short for --output raw'
            cand --detail 'Every field of the envelope'
            cand -v 'Log to standard error; repeat it for more'
            cand --verbose 'Log to standard error; repeat it for more'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
        }
        &'ssh-cli;scp'= {
            cand -F '`ssh_config` to read instead of the user''s and the system''s; `none` reads none'
            cand --config '`ssh_config` to read instead of the user''s and the system''s; `none` reads none'
            cand -o 'One `ssh_config` option, as in OpenSSH; repeatable, and stronger than the file'
            cand --option 'One `ssh_config` option, as in OpenSSH; repeatable, and stronger than the file'
            cand -l 'The remote user [default: from the config, else the local user]'
            cand --user 'The remote user [default: from the config, else the local user]'
            cand -p 'The port [default: from the config, else 22]'
            cand -P 'The port [default: from the config, else 22]'
            cand --port 'The port [default: from the config, else 22]'
            cand -i 'Only this key; repeatable'
            cand --identity 'Only this key; repeatable'
            cand -J 'Bastions to go through, in this order [default: `ProxyJump`, `ProxyCommand`]'
            cand --jump 'Bastions to go through, in this order [default: `ProxyJump`, `ProxyCommand`]'
            cand --password 'Where the password comes from; nothing is ever asked for without it'
            cand --passphrase 'Where the passphrase of an encrypted key comes from (a SRC, as for --password)'
            cand --otp 'Where a one-time code comes from (a SRC, as for --password); asked anew at each attempt'
            cand --host-key-policy 'How the host key is judged [default: `StrictHostKeyChecking`, else strict]'
            cand --host-key 'Accept exactly this host key for DEST, and write nothing; repeatable'
            cand --connect-timeout 'Limit of one attempt, until the channel is open, all hops together [default: 15s]'
            cand --deadline 'Limit of the whole invocation, retries and waits included; when it is over the run ends as by --timeout'
            cand --keepalive 'A silent connection is probed this often, and lost after three unanswered probes; 0 turns it off [default: 15s]'
            cand --protocol 'How the two sides speak'
            cand --mode 'The permission bits of the files that are written, from 0 to 0777 [default: those of a file that is replaced, else of the source]'
            cand --symlinks 'What becomes of a symbolic link among the sources'
            cand --progress 'When standard error says how far it is'
            cand --timeout 'Limit of the copy; what is not finished then is removed'
            cand --effect 'What copying a second time would do [default: idempotent for an upload, read for a download]'
            cand --retries 'Try again so often after a failure that is transient and safe to repeat, at most 10 times [default: 0]'
            cand --retry-base 'The base of the waits: each is drawn from 0 to base times 2^attempt [default: 200ms]'
            cand --retry-max-delay 'The longest wait, at most 60s [default: 5s]'
            cand --retry-wait 'Wait exactly so long instead of the draw, but never over the longest wait'
            cand --output 'The form of the output [default: raw when standard output is a terminal, else json]'
            cand -r 'Copy directories, with all that is in them'
            cand --recursive 'Copy directories, with all that is in them'
            cand --preserve 'Keep modification times, in whole seconds, and permission bits'
            cand --verify 'Compare the SHA-256 of both sides before a file takes its place'
            cand --resume 'Continue what an earlier attempt began, where it is proven to be the beginning of the same file'
            cand --parents 'Make the directories on the way to TARGET'
            cand --no-clobber 'Leave a file that is there as it is'
            cand --in-place 'Write into the target itself'
            cand --json 'Short for --output json'
            cand --raw 'Short for --output raw'
            cand --detail 'Every field of the envelope'
            cand -v 'Log to standard error; repeat it for more'
            cand --verbose 'Log to standard error; repeat it for more'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
        }
        &'ssh-cli;check'= {
            cand -F '`ssh_config` to read instead of the user''s and the system''s; `none` reads none'
            cand --config '`ssh_config` to read instead of the user''s and the system''s; `none` reads none'
            cand -o 'One `ssh_config` option, as in OpenSSH; repeatable, and stronger than the file'
            cand --option 'One `ssh_config` option, as in OpenSSH; repeatable, and stronger than the file'
            cand -l 'The remote user [default: from the config, else the local user]'
            cand --user 'The remote user [default: from the config, else the local user]'
            cand -p 'The port [default: from the config, else 22]'
            cand -P 'The port [default: from the config, else 22]'
            cand --port 'The port [default: from the config, else 22]'
            cand -i 'Only this key; repeatable'
            cand --identity 'Only this key; repeatable'
            cand -J 'Bastions to go through, in this order [default: `ProxyJump`, `ProxyCommand`]'
            cand --jump 'Bastions to go through, in this order [default: `ProxyJump`, `ProxyCommand`]'
            cand --password 'Where the password comes from; nothing is ever asked for without it'
            cand --passphrase 'Where the passphrase of an encrypted key comes from (a SRC, as for --password)'
            cand --otp 'Where a one-time code comes from (a SRC, as for --password); asked anew at each attempt'
            cand --host-key-policy 'How the host key is judged [default: `StrictHostKeyChecking`, else strict]'
            cand --host-key 'Accept exactly this host key for DEST, and write nothing; repeatable'
            cand --connect-timeout 'Limit of one attempt, until the channel is open, all hops together [default: 15s]'
            cand --deadline 'Limit of the whole invocation, retries and waits included; when it is over the run ends as by --timeout'
            cand --keepalive 'A silent connection is probed this often, and lost after three unanswered probes; 0 turns it off [default: 15s]'
            cand --retries 'Try again so often after a failure that is transient and safe to repeat, at most 10 times [default: 0]'
            cand --retry-base 'The base of the waits: each is drawn from 0 to base times 2^attempt [default: 200ms]'
            cand --retry-max-delay 'The longest wait, at most 60s [default: 5s]'
            cand --retry-wait 'Wait exactly so long instead of the draw, but never over the longest wait'
            cand --output 'The form of the output [default: raw when standard output is a terminal, else json]'
            cand --offline 'Print the resolved target, and touch no network'
            cand --json 'Short for --output json'
            cand --raw 'Short for --output raw'
            cand --detail 'Every field of the envelope'
            cand -v 'Log to standard error; repeat it for more'
            cand --verbose 'Log to standard error; repeat it for more'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
        }
        &'ssh-cli;schema'= {
            cand --output 'The form of the output [default: raw when standard output is a terminal, else json]'
            cand --json 'Short for --output json'
            cand --raw 'Short for --output raw'
            cand --detail 'Every field of the envelope'
            cand -v 'Log to standard error; repeat it for more'
            cand --verbose 'Log to standard error; repeat it for more'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
        }
        &'ssh-cli;exit-codes'= {
            cand --output 'The form of the output [default: raw when standard output is a terminal, else json]'
            cand --json 'Short for --output json'
            cand --raw 'Short for --output raw'
            cand --detail 'Every field of the envelope'
            cand -v 'Log to standard error; repeat it for more'
            cand --verbose 'Log to standard error; repeat it for more'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
        }
        &'ssh-cli;completions'= {
            cand --output 'The form of the output [default: raw when standard output is a terminal, else json]'
            cand --json 'Short for --output json'
            cand --raw 'Short for --output raw'
            cand --detail 'Every field of the envelope'
            cand -v 'Log to standard error; repeat it for more'
            cand --verbose 'Log to standard error; repeat it for more'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
        }
        &'ssh-cli;help'= {
            cand exec 'Run one command on another machine'
            cand scp 'Copy files to or from another machine'
            cand check 'Connect and authenticate, run nothing, and say what each phase came to'
            cand schema 'Print a JSON Schema, the error codes or tool definitions'
            cand exit-codes 'Print what each exit code means'
            cand completions 'Print a completion script for a shell'
            cand help 'Print this message or the help of the given subcommand(s)'
        }
        &'ssh-cli;help;exec'= {
        }
        &'ssh-cli;help;scp'= {
        }
        &'ssh-cli;help;check'= {
        }
        &'ssh-cli;help;schema'= {
        }
        &'ssh-cli;help;exit-codes'= {
        }
        &'ssh-cli;help;completions'= {
        }
        &'ssh-cli;help;help'= {
        }
    ]
    $completions[$command]
}
