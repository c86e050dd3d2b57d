
using namespace System.Management.Automation
using namespace System.Management.Automation.Language

Register-ArgumentCompleter -Native -CommandName 'ssh-cli' -ScriptBlock {
    param($wordToComplete, $commandAst, $cursorPosition)

    $commandElements = $commandAst.CommandElements
    $command = @(
        'ssh-cli'
        for ($i = 1; $i -lt $commandElements.Count; $i++) {
            $element = $commandElements[$i]
            if ($element -isnot [StringConstantExpressionAst] -or
                $element.StringConstantType -ne [StringConstantType]::BareWord -or
                $element.Value.StartsWith('-') -or
                $element.Value -eq $wordToComplete) {
                break
        }
        $element.Value
    }) -join ';'

    $completions = @(switch ($command) {
        'ssh-cli' {
            [CompletionResult]::new('--output', '--output', [CompletionResultType]::ParameterName, 'The form of the output [default: raw when standard output is a terminal, else json]')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Short for --output json')
            [CompletionResult]::new('--raw', '--raw', [CompletionResultType]::ParameterName, 'Short for --output raw')
            [CompletionResult]::new('--detail', '--detail', [CompletionResultType]::ParameterName, 'Every field of the envelope')
            [CompletionResult]::new('-v', '-v', [CompletionResultType]::ParameterName, 'Log to standard error; repeat it for more')
            [CompletionResult]::new('--verbose', '--verbose', [CompletionResultType]::ParameterName, 'Log to standard error; repeat it for more')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('-V', '-V ', [CompletionResultType]::ParameterName, 'Print version')
            [CompletionResult]::new('--version', '--version', [CompletionResultType]::ParameterName, 'Print version')
            [CompletionResult]::new('exec', 'exec', [CompletionResultType]::ParameterValue, 'Run one command on another machine')
            [CompletionResult]::new('scp', 'scp', [CompletionResultType]::ParameterValue, 'Copy files to or from another machine')
            [CompletionResult]::new('sudo-exec', 'sudo-exec', [CompletionResultType]::ParameterValue, 'Run one command with another user''s rights, by sudo')
            [CompletionResult]::new('su-exec', 'su-exec', [CompletionResultType]::ParameterValue, 'Run one command with another user''s rights, by su')
            [CompletionResult]::new('check', 'check', [CompletionResultType]::ParameterValue, 'Connect and authenticate, run nothing, and say what each phase came to')
            [CompletionResult]::new('schema', 'schema', [CompletionResultType]::ParameterValue, 'Print a JSON Schema, the error codes or tool definitions')
            [CompletionResult]::new('exit-codes', 'exit-codes', [CompletionResultType]::ParameterValue, 'Print what each exit code means')
            [CompletionResult]::new('completions', 'completions', [CompletionResultType]::ParameterValue, 'Print a completion script for a shell')
            [CompletionResult]::new('help', 'help', [CompletionResultType]::ParameterValue, 'Print this message or the help of the given subcommand(s)')
            break
        }
        'ssh-cli;exec' {
            [CompletionResult]::new('-F', '-F ', [CompletionResultType]::ParameterName, '`ssh_config` to read instead of the user''s and the system''s; `none` reads none')
            [CompletionResult]::new('--config', '--config', [CompletionResultType]::ParameterName, '`ssh_config` to read instead of the user''s and the system''s; `none` reads none')
            [CompletionResult]::new('-o', '-o', [CompletionResultType]::ParameterName, 'One `ssh_config` option, as in OpenSSH; repeatable, and stronger than the file')
            [CompletionResult]::new('--option', '--option', [CompletionResultType]::ParameterName, 'One `ssh_config` option, as in OpenSSH; repeatable, and stronger than the file')
            [CompletionResult]::new('-l', '-l', [CompletionResultType]::ParameterName, 'The remote user [default: from the config, else the local user]')
            [CompletionResult]::new('--user', '--user', [CompletionResultType]::ParameterName, 'The remote user [default: from the config, else the local user]')
            [CompletionResult]::new('-p', '-p', [CompletionResultType]::ParameterName, 'The port [default: from the config, else 22]')
            [CompletionResult]::new('-P', '-P ', [CompletionResultType]::ParameterName, 'The port [default: from the config, else 22]')
            [CompletionResult]::new('--port', '--port', [CompletionResultType]::ParameterName, 'The port [default: from the config, else 22]')
            [CompletionResult]::new('-i', '-i', [CompletionResultType]::ParameterName, 'Only this key; repeatable')
            [CompletionResult]::new('--identity', '--identity', [CompletionResultType]::ParameterName, 'Only this key; repeatable')
            [CompletionResult]::new('-J', '-J ', [CompletionResultType]::ParameterName, 'Bastions to go through, in this order [default: `ProxyJump`, `ProxyCommand`]')
            [CompletionResult]::new('--jump', '--jump', [CompletionResultType]::ParameterName, 'Bastions to go through, in this order [default: `ProxyJump`, `ProxyCommand`]')
            [CompletionResult]::new('--password', '--password', [CompletionResultType]::ParameterName, 'Where the password comes from; nothing is ever asked for without it')
            [CompletionResult]::new('--passphrase', '--passphrase', [CompletionResultType]::ParameterName, 'Where the passphrase of an encrypted key comes from (a SRC, as for --password)')
            [CompletionResult]::new('--otp', '--otp', [CompletionResultType]::ParameterName, 'Where a one-time code comes from (a SRC, as for --password); asked anew at each attempt')
            [CompletionResult]::new('--host-key-policy', '--host-key-policy', [CompletionResultType]::ParameterName, 'How the host key is judged [default: `StrictHostKeyChecking`, else strict]')
            [CompletionResult]::new('--host-key', '--host-key', [CompletionResultType]::ParameterName, 'Accept exactly this host key for DEST, and write nothing; repeatable')
            [CompletionResult]::new('--connect-timeout', '--connect-timeout', [CompletionResultType]::ParameterName, 'Limit of one attempt, until the channel is open, all hops together [default: 15s]')
            [CompletionResult]::new('--deadline', '--deadline', [CompletionResultType]::ParameterName, 'Limit of the whole invocation, retries and waits included; when it is over the run ends as by --timeout')
            [CompletionResult]::new('--keepalive', '--keepalive', [CompletionResultType]::ParameterName, 'A silent connection is probed this often, and lost after three unanswered probes; 0 turns it off [default: 15s]')
            [CompletionResult]::new('--stdin-file', '--stdin-file', [CompletionResultType]::ParameterName, 'Send this file to the command''s standard input; `-` is --stdin')
            [CompletionResult]::new('--script', '--script', [CompletionResultType]::ParameterName, 'Run this local script with `sh`, or with what its `#!` line names; `-` is standard input')
            [CompletionResult]::new('--cwd', '--cwd', [CompletionResultType]::ParameterName, 'The directory to run in; needs a POSIX shell there')
            [CompletionResult]::new('--env', '--env', [CompletionResultType]::ParameterName, 'Set a variable for the command; repeatable; needs a POSIX shell there')
            [CompletionResult]::new('--secret-env', '--secret-env', [CompletionResultType]::ParameterName, 'Set a variable from a SRC; repeatable. It never appears in the command''s text')
            [CompletionResult]::new('--timeout', '--timeout', [CompletionResultType]::ParameterName, 'Limit of the run; then INT, TERM and KILL to the command, and a report whether it stopped')
            [CompletionResult]::new('--effect', '--effect', [CompletionResultType]::ParameterName, 'What running it a second time would do')
            [CompletionResult]::new('--retries', '--retries', [CompletionResultType]::ParameterName, 'Try again so often after a failure that is transient and safe to repeat, at most 10 times [default: 0]')
            [CompletionResult]::new('--retry-base', '--retry-base', [CompletionResultType]::ParameterName, 'The base of the waits: each is drawn from 0 to base times 2^attempt [default: 200ms]')
            [CompletionResult]::new('--retry-max-delay', '--retry-max-delay', [CompletionResultType]::ParameterName, 'The longest wait, at most 60s [default: 5s]')
            [CompletionResult]::new('--retry-wait', '--retry-wait', [CompletionResultType]::ParameterName, 'Wait exactly so long instead of the draw, but never over the longest wait')
            [CompletionResult]::new('--max-output', '--max-output', [CompletionResultType]::ParameterName, 'The most of each stream in the envelope, as encoded; the head and the tail are kept, cut at lines [default: 8KiB]')
            [CompletionResult]::new('--stdout-file', '--stdout-file', [CompletionResultType]::ParameterName, 'Write the exact bytes of standard output here, in place once the run has ended; implies --json')
            [CompletionResult]::new('--output', '--output', [CompletionResultType]::ParameterName, 'The form of the output [default: raw when standard output is a terminal, else json]')
            [CompletionResult]::new('--stdin', '--stdin', [CompletionResultType]::ParameterName, 'Send our standard input to the command, and its end')
            [CompletionResult]::new('-n', '-n', [CompletionResultType]::ParameterName, 'Our standard input is not meant: neither refuse a file there nor warn about waiting data')
            [CompletionResult]::new('--argv', '--argv', [CompletionResultType]::ParameterName, 'Quote even a single word for the remote shell (for `"$@"` in scripts)')
            [CompletionResult]::new('--login', '--login', [CompletionResultType]::ParameterName, 'Run through a login shell, with its PATH; needs a POSIX shell there')
            [CompletionResult]::new('--pty', '--pty', [CompletionResultType]::ParameterName, 'Ask for a terminal there; both streams become one')
            [CompletionResult]::new('--no-exit-status', '--no-exit-status', [CompletionResultType]::ParameterName, 'For gear that never sends an exit status: an orderly end is success, with a warning')
            [CompletionResult]::new('--no-spill', '--no-spill', [CompletionResultType]::ParameterName, 'Do not keep a cut stream whole in the state directory')
            [CompletionResult]::new('--base64', '--base64', [CompletionResultType]::ParameterName, 'Put a stream with NUL bytes into the envelope as base64, where it fits; implies --json')
            [CompletionResult]::new('--remote-exit', '--remote-exit', [CompletionResultType]::ParameterName, 'End with the remote status: 1-63 and 79-254 pass, signals as 128+n, all else that is not 0 is 1')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Short for --output json')
            [CompletionResult]::new('--raw', '--raw', [CompletionResultType]::ParameterName, 'Short for --output raw')
            [CompletionResult]::new('--detail', '--detail', [CompletionResultType]::ParameterName, 'Every field of the envelope')
            [CompletionResult]::new('-v', '-v', [CompletionResultType]::ParameterName, 'Log to standard error; repeat it for more')
            [CompletionResult]::new('--verbose', '--verbose', [CompletionResultType]::ParameterName, 'Log to standard error; repeat it for more')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'ssh-cli;scp' {
            [CompletionResult]::new('-F', '-F ', [CompletionResultType]::ParameterName, '`ssh_config` to read instead of the user''s and the system''s; `none` reads none')
            [CompletionResult]::new('--config', '--config', [CompletionResultType]::ParameterName, '`ssh_config` to read instead of the user''s and the system''s; `none` reads none')
            [CompletionResult]::new('-o', '-o', [CompletionResultType]::ParameterName, 'One `ssh_config` option, as in OpenSSH; repeatable, and stronger than the file')
            [CompletionResult]::new('--option', '--option', [CompletionResultType]::ParameterName, 'One `ssh_config` option, as in OpenSSH; repeatable, and stronger than the file')
            [CompletionResult]::new('-l', '-l', [CompletionResultType]::ParameterName, 'The remote user [default: from the config, else the local user]')
            [CompletionResult]::new('--user', '--user', [CompletionResultType]::ParameterName, 'The remote user [default: from the config, else the local user]')
            [CompletionResult]::new('-p', '-p', [CompletionResultType]::ParameterName, 'The port [default: from the config, else 22]')
            [CompletionResult]::new('-P', '-P ', [CompletionResultType]::ParameterName, 'The port [default: from the config, else 22]')
            [CompletionResult]::new('--port', '--port', [CompletionResultType]::ParameterName, 'The port [default: from the config, else 22]')
            [CompletionResult]::new('-i', '-i', [CompletionResultType]::ParameterName, 'Only this key; repeatable')
            [CompletionResult]::new('--identity', '--identity', [CompletionResultType]::ParameterName, 'Only this key; repeatable')
            [CompletionResult]::new('-J', '-J ', [CompletionResultType]::ParameterName, 'Bastions to go through, in this order [default: `ProxyJump`, `ProxyCommand`]')
            [CompletionResult]::new('--jump', '--jump', [CompletionResultType]::ParameterName, 'Bastions to go through, in this order [default: `ProxyJump`, `ProxyCommand`]')
            [CompletionResult]::new('--password', '--password', [CompletionResultType]::ParameterName, 'Where the password comes from; nothing is ever asked for without it')
            [CompletionResult]::new('--passphrase', '--passphrase', [CompletionResultType]::ParameterName, 'Where the passphrase of an encrypted key comes from (a SRC, as for --password)')
            [CompletionResult]::new('--otp', '--otp', [CompletionResultType]::ParameterName, 'Where a one-time code comes from (a SRC, as for --password); asked anew at each attempt')
            [CompletionResult]::new('--host-key-policy', '--host-key-policy', [CompletionResultType]::ParameterName, 'How the host key is judged [default: `StrictHostKeyChecking`, else strict]')
            [CompletionResult]::new('--host-key', '--host-key', [CompletionResultType]::ParameterName, 'Accept exactly this host key for DEST, and write nothing; repeatable')
            [CompletionResult]::new('--connect-timeout', '--connect-timeout', [CompletionResultType]::ParameterName, 'Limit of one attempt, until the channel is open, all hops together [default: 15s]')
            [CompletionResult]::new('--deadline', '--deadline', [CompletionResultType]::ParameterName, 'Limit of the whole invocation, retries and waits included; when it is over the run ends as by --timeout')
            [CompletionResult]::new('--keepalive', '--keepalive', [CompletionResultType]::ParameterName, 'A silent connection is probed this often, and lost after three unanswered probes; 0 turns it off [default: 15s]')
            [CompletionResult]::new('--protocol', '--protocol', [CompletionResultType]::ParameterName, 'How the two sides speak')
            [CompletionResult]::new('--mode', '--mode', [CompletionResultType]::ParameterName, 'The permission bits of the files that are written, from 0 to 0777 [default: those of a file that is replaced, else of the source]')
            [CompletionResult]::new('--symlinks', '--symlinks', [CompletionResultType]::ParameterName, 'What becomes of a symbolic link among the sources')
            [CompletionResult]::new('--progress', '--progress', [CompletionResultType]::ParameterName, 'When standard error says how far it is')
            [CompletionResult]::new('--timeout', '--timeout', [CompletionResultType]::ParameterName, 'Limit of the copy; what is not finished then is removed')
            [CompletionResult]::new('--effect', '--effect', [CompletionResultType]::ParameterName, 'What copying a second time would do [default: idempotent for an upload, read for a download]')
            [CompletionResult]::new('--as', '--as', [CompletionResultType]::ParameterName, 'Whose rights [default: root]')
            [CompletionResult]::new('--sudo-password', '--sudo-password', [CompletionResultType]::ParameterName, 'Where the password for sudo is (a SRC); without it sudo is told not to ask')
            [CompletionResult]::new('--owner', '--owner', [CompletionResultType]::ParameterName, 'Who is to own what is copied, by name or number [default: the owner of a file that is replaced, else USER]')
            [CompletionResult]::new('--group', '--group', [CompletionResultType]::ParameterName, 'The group of what is copied, by name or number [default: that of a file that is replaced, else USER''s]')
            [CompletionResult]::new('--retries', '--retries', [CompletionResultType]::ParameterName, 'Try again so often after a failure that is transient and safe to repeat, at most 10 times [default: 0]')
            [CompletionResult]::new('--retry-base', '--retry-base', [CompletionResultType]::ParameterName, 'The base of the waits: each is drawn from 0 to base times 2^attempt [default: 200ms]')
            [CompletionResult]::new('--retry-max-delay', '--retry-max-delay', [CompletionResultType]::ParameterName, 'The longest wait, at most 60s [default: 5s]')
            [CompletionResult]::new('--retry-wait', '--retry-wait', [CompletionResultType]::ParameterName, 'Wait exactly so long instead of the draw, but never over the longest wait')
            [CompletionResult]::new('--output', '--output', [CompletionResultType]::ParameterName, 'The form of the output [default: raw when standard output is a terminal, else json]')
            [CompletionResult]::new('-r', '-r', [CompletionResultType]::ParameterName, 'Copy directories, with all that is in them')
            [CompletionResult]::new('--recursive', '--recursive', [CompletionResultType]::ParameterName, 'Copy directories, with all that is in them')
            [CompletionResult]::new('--preserve', '--preserve', [CompletionResultType]::ParameterName, 'Keep modification times, in whole seconds, and permission bits')
            [CompletionResult]::new('--verify', '--verify', [CompletionResultType]::ParameterName, 'Compare the SHA-256 of both sides before a file takes its place')
            [CompletionResult]::new('--resume', '--resume', [CompletionResultType]::ParameterName, 'Continue what an earlier attempt began, where it is proven to be the beginning of the same file')
            [CompletionResult]::new('--parents', '--parents', [CompletionResultType]::ParameterName, 'Make the directories on the way to TARGET')
            [CompletionResult]::new('--no-clobber', '--no-clobber', [CompletionResultType]::ParameterName, 'Leave a file that is there as it is')
            [CompletionResult]::new('--in-place', '--in-place', [CompletionResultType]::ParameterName, 'Write into the target itself')
            [CompletionResult]::new('--sudo', '--sudo', [CompletionResultType]::ParameterName, 'Read and write on the host with another user''s rights, by its sudo')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Short for --output json')
            [CompletionResult]::new('--raw', '--raw', [CompletionResultType]::ParameterName, 'Short for --output raw')
            [CompletionResult]::new('--detail', '--detail', [CompletionResultType]::ParameterName, 'Every field of the envelope')
            [CompletionResult]::new('-v', '-v', [CompletionResultType]::ParameterName, 'Log to standard error; repeat it for more')
            [CompletionResult]::new('--verbose', '--verbose', [CompletionResultType]::ParameterName, 'Log to standard error; repeat it for more')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'ssh-cli;sudo-exec' {
            [CompletionResult]::new('--as', '--as', [CompletionResultType]::ParameterName, 'Who runs the command there')
            [CompletionResult]::new('--sudo-password', '--sudo-password', [CompletionResultType]::ParameterName, 'Where the password for sudo is (a SRC); without it sudo is told not to ask')
            [CompletionResult]::new('-F', '-F ', [CompletionResultType]::ParameterName, '`ssh_config` to read instead of the user''s and the system''s; `none` reads none')
            [CompletionResult]::new('--config', '--config', [CompletionResultType]::ParameterName, '`ssh_config` to read instead of the user''s and the system''s; `none` reads none')
            [CompletionResult]::new('-o', '-o', [CompletionResultType]::ParameterName, 'One `ssh_config` option, as in OpenSSH; repeatable, and stronger than the file')
            [CompletionResult]::new('--option', '--option', [CompletionResultType]::ParameterName, 'One `ssh_config` option, as in OpenSSH; repeatable, and stronger than the file')
            [CompletionResult]::new('-l', '-l', [CompletionResultType]::ParameterName, 'The remote user [default: from the config, else the local user]')
            [CompletionResult]::new('--user', '--user', [CompletionResultType]::ParameterName, 'The remote user [default: from the config, else the local user]')
            [CompletionResult]::new('-p', '-p', [CompletionResultType]::ParameterName, 'The port [default: from the config, else 22]')
            [CompletionResult]::new('-P', '-P ', [CompletionResultType]::ParameterName, 'The port [default: from the config, else 22]')
            [CompletionResult]::new('--port', '--port', [CompletionResultType]::ParameterName, 'The port [default: from the config, else 22]')
            [CompletionResult]::new('-i', '-i', [CompletionResultType]::ParameterName, 'Only this key; repeatable')
            [CompletionResult]::new('--identity', '--identity', [CompletionResultType]::ParameterName, 'Only this key; repeatable')
            [CompletionResult]::new('-J', '-J ', [CompletionResultType]::ParameterName, 'Bastions to go through, in this order [default: `ProxyJump`, `ProxyCommand`]')
            [CompletionResult]::new('--jump', '--jump', [CompletionResultType]::ParameterName, 'Bastions to go through, in this order [default: `ProxyJump`, `ProxyCommand`]')
            [CompletionResult]::new('--password', '--password', [CompletionResultType]::ParameterName, 'Where the password comes from; nothing is ever asked for without it')
            [CompletionResult]::new('--passphrase', '--passphrase', [CompletionResultType]::ParameterName, 'Where the passphrase of an encrypted key comes from (a SRC, as for --password)')
            [CompletionResult]::new('--otp', '--otp', [CompletionResultType]::ParameterName, 'Where a one-time code comes from (a SRC, as for --password); asked anew at each attempt')
            [CompletionResult]::new('--host-key-policy', '--host-key-policy', [CompletionResultType]::ParameterName, 'How the host key is judged [default: `StrictHostKeyChecking`, else strict]')
            [CompletionResult]::new('--host-key', '--host-key', [CompletionResultType]::ParameterName, 'Accept exactly this host key for DEST, and write nothing; repeatable')
            [CompletionResult]::new('--connect-timeout', '--connect-timeout', [CompletionResultType]::ParameterName, 'Limit of one attempt, until the channel is open, all hops together [default: 15s]')
            [CompletionResult]::new('--deadline', '--deadline', [CompletionResultType]::ParameterName, 'Limit of the whole invocation, retries and waits included; when it is over the run ends as by --timeout')
            [CompletionResult]::new('--keepalive', '--keepalive', [CompletionResultType]::ParameterName, 'A silent connection is probed this often, and lost after three unanswered probes; 0 turns it off [default: 15s]')
            [CompletionResult]::new('--stdin-file', '--stdin-file', [CompletionResultType]::ParameterName, 'Send this file to the command''s standard input; `-` is --stdin')
            [CompletionResult]::new('--script', '--script', [CompletionResultType]::ParameterName, 'Run this local script with `sh`, or with what its `#!` line names; `-` is standard input')
            [CompletionResult]::new('--cwd', '--cwd', [CompletionResultType]::ParameterName, 'The directory to run in; needs a POSIX shell there')
            [CompletionResult]::new('--env', '--env', [CompletionResultType]::ParameterName, 'Set a variable for the command; repeatable; needs a POSIX shell there')
            [CompletionResult]::new('--secret-env', '--secret-env', [CompletionResultType]::ParameterName, 'Set a variable from a SRC; repeatable. It never appears in the command''s text')
            [CompletionResult]::new('--timeout', '--timeout', [CompletionResultType]::ParameterName, 'Limit of the run; then INT, TERM and KILL to the command, and a report whether it stopped')
            [CompletionResult]::new('--effect', '--effect', [CompletionResultType]::ParameterName, 'What running it a second time would do')
            [CompletionResult]::new('--retries', '--retries', [CompletionResultType]::ParameterName, 'Try again so often after a failure that is transient and safe to repeat, at most 10 times [default: 0]')
            [CompletionResult]::new('--retry-base', '--retry-base', [CompletionResultType]::ParameterName, 'The base of the waits: each is drawn from 0 to base times 2^attempt [default: 200ms]')
            [CompletionResult]::new('--retry-max-delay', '--retry-max-delay', [CompletionResultType]::ParameterName, 'The longest wait, at most 60s [default: 5s]')
            [CompletionResult]::new('--retry-wait', '--retry-wait', [CompletionResultType]::ParameterName, 'Wait exactly so long instead of the draw, but never over the longest wait')
            [CompletionResult]::new('--max-output', '--max-output', [CompletionResultType]::ParameterName, 'The most of each stream in the envelope, as encoded; the head and the tail are kept, cut at lines [default: 8KiB]')
            [CompletionResult]::new('--stdout-file', '--stdout-file', [CompletionResultType]::ParameterName, 'Write the exact bytes of standard output here, in place once the run has ended; implies --json')
            [CompletionResult]::new('--output', '--output', [CompletionResultType]::ParameterName, 'The form of the output [default: raw when standard output is a terminal, else json]')
            [CompletionResult]::new('--sudo-direct', '--sudo-direct', [CompletionResultType]::ParameterName, 'Let sudo start the program itself, without a shell, where that is all it permits')
            [CompletionResult]::new('--stdin', '--stdin', [CompletionResultType]::ParameterName, 'Send our standard input to the command, and its end')
            [CompletionResult]::new('-n', '-n', [CompletionResultType]::ParameterName, 'Our standard input is not meant: neither refuse a file there nor warn about waiting data')
            [CompletionResult]::new('--argv', '--argv', [CompletionResultType]::ParameterName, 'Quote even a single word for the remote shell (for `"$@"` in scripts)')
            [CompletionResult]::new('--login', '--login', [CompletionResultType]::ParameterName, 'Run through a login shell, with its PATH; needs a POSIX shell there')
            [CompletionResult]::new('--pty', '--pty', [CompletionResultType]::ParameterName, 'Ask for a terminal there; both streams become one')
            [CompletionResult]::new('--no-exit-status', '--no-exit-status', [CompletionResultType]::ParameterName, 'For gear that never sends an exit status: an orderly end is success, with a warning')
            [CompletionResult]::new('--no-spill', '--no-spill', [CompletionResultType]::ParameterName, 'Do not keep a cut stream whole in the state directory')
            [CompletionResult]::new('--base64', '--base64', [CompletionResultType]::ParameterName, 'Put a stream with NUL bytes into the envelope as base64, where it fits; implies --json')
            [CompletionResult]::new('--remote-exit', '--remote-exit', [CompletionResultType]::ParameterName, 'End with the remote status: 1-63 and 79-254 pass, signals as 128+n, all else that is not 0 is 1')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Short for --output json')
            [CompletionResult]::new('--raw', '--raw', [CompletionResultType]::ParameterName, 'Short for --output raw')
            [CompletionResult]::new('--detail', '--detail', [CompletionResultType]::ParameterName, 'Every field of the envelope')
            [CompletionResult]::new('-v', '-v', [CompletionResultType]::ParameterName, 'Log to standard error; repeat it for more')
            [CompletionResult]::new('--verbose', '--verbose', [CompletionResultType]::ParameterName, 'Log to standard error; repeat it for more')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'ssh-cli;su-exec' {
            [CompletionResult]::new('--as', '--as', [CompletionResultType]::ParameterName, 'Who runs the command there')
            [CompletionResult]::new('--su-password', '--su-password', [CompletionResultType]::ParameterName, 'Where the password of that user is (a SRC)')
            [CompletionResult]::new('-F', '-F ', [CompletionResultType]::ParameterName, '`ssh_config` to read instead of the user''s and the system''s; `none` reads none')
            [CompletionResult]::new('--config', '--config', [CompletionResultType]::ParameterName, '`ssh_config` to read instead of the user''s and the system''s; `none` reads none')
            [CompletionResult]::new('-o', '-o', [CompletionResultType]::ParameterName, 'One `ssh_config` option, as in OpenSSH; repeatable, and stronger than the file')
            [CompletionResult]::new('--option', '--option', [CompletionResultType]::ParameterName, 'One `ssh_config` option, as in OpenSSH; repeatable, and stronger than the file')
            [CompletionResult]::new('-l', '-l', [CompletionResultType]::ParameterName, 'The remote user [default: from the config, else the local user]')
            [CompletionResult]::new('--user', '--user', [CompletionResultType]::ParameterName, 'The remote user [default: from the config, else the local user]')
            [CompletionResult]::new('-p', '-p', [CompletionResultType]::ParameterName, 'The port [default: from the config, else 22]')
            [CompletionResult]::new('-P', '-P ', [CompletionResultType]::ParameterName, 'The port [default: from the config, else 22]')
            [CompletionResult]::new('--port', '--port', [CompletionResultType]::ParameterName, 'The port [default: from the config, else 22]')
            [CompletionResult]::new('-i', '-i', [CompletionResultType]::ParameterName, 'Only this key; repeatable')
            [CompletionResult]::new('--identity', '--identity', [CompletionResultType]::ParameterName, 'Only this key; repeatable')
            [CompletionResult]::new('-J', '-J ', [CompletionResultType]::ParameterName, 'Bastions to go through, in this order [default: `ProxyJump`, `ProxyCommand`]')
            [CompletionResult]::new('--jump', '--jump', [CompletionResultType]::ParameterName, 'Bastions to go through, in this order [default: `ProxyJump`, `ProxyCommand`]')
            [CompletionResult]::new('--password', '--password', [CompletionResultType]::ParameterName, 'Where the password comes from; nothing is ever asked for without it')
            [CompletionResult]::new('--passphrase', '--passphrase', [CompletionResultType]::ParameterName, 'Where the passphrase of an encrypted key comes from (a SRC, as for --password)')
            [CompletionResult]::new('--otp', '--otp', [CompletionResultType]::ParameterName, 'Where a one-time code comes from (a SRC, as for --password); asked anew at each attempt')
            [CompletionResult]::new('--host-key-policy', '--host-key-policy', [CompletionResultType]::ParameterName, 'How the host key is judged [default: `StrictHostKeyChecking`, else strict]')
            [CompletionResult]::new('--host-key', '--host-key', [CompletionResultType]::ParameterName, 'Accept exactly this host key for DEST, and write nothing; repeatable')
            [CompletionResult]::new('--connect-timeout', '--connect-timeout', [CompletionResultType]::ParameterName, 'Limit of one attempt, until the channel is open, all hops together [default: 15s]')
            [CompletionResult]::new('--deadline', '--deadline', [CompletionResultType]::ParameterName, 'Limit of the whole invocation, retries and waits included; when it is over the run ends as by --timeout')
            [CompletionResult]::new('--keepalive', '--keepalive', [CompletionResultType]::ParameterName, 'A silent connection is probed this often, and lost after three unanswered probes; 0 turns it off [default: 15s]')
            [CompletionResult]::new('--stdin-file', '--stdin-file', [CompletionResultType]::ParameterName, 'Send this file to the command''s standard input; `-` is --stdin')
            [CompletionResult]::new('--script', '--script', [CompletionResultType]::ParameterName, 'Run this local script with `sh`, or with what its `#!` line names; `-` is standard input')
            [CompletionResult]::new('--cwd', '--cwd', [CompletionResultType]::ParameterName, 'The directory to run in; needs a POSIX shell there')
            [CompletionResult]::new('--env', '--env', [CompletionResultType]::ParameterName, 'Set a variable for the command; repeatable; needs a POSIX shell there')
            [CompletionResult]::new('--secret-env', '--secret-env', [CompletionResultType]::ParameterName, 'Set a variable from a SRC; repeatable. It never appears in the command''s text')
            [CompletionResult]::new('--timeout', '--timeout', [CompletionResultType]::ParameterName, 'Limit of the run; then INT, TERM and KILL to the command, and a report whether it stopped')
            [CompletionResult]::new('--effect', '--effect', [CompletionResultType]::ParameterName, 'What running it a second time would do')
            [CompletionResult]::new('--retries', '--retries', [CompletionResultType]::ParameterName, 'Try again so often after a failure that is transient and safe to repeat, at most 10 times [default: 0]')
            [CompletionResult]::new('--retry-base', '--retry-base', [CompletionResultType]::ParameterName, 'The base of the waits: each is drawn from 0 to base times 2^attempt [default: 200ms]')
            [CompletionResult]::new('--retry-max-delay', '--retry-max-delay', [CompletionResultType]::ParameterName, 'The longest wait, at most 60s [default: 5s]')
            [CompletionResult]::new('--retry-wait', '--retry-wait', [CompletionResultType]::ParameterName, 'Wait exactly so long instead of the draw, but never over the longest wait')
            [CompletionResult]::new('--max-output', '--max-output', [CompletionResultType]::ParameterName, 'The most of each stream in the envelope, as encoded; the head and the tail are kept, cut at lines [default: 8KiB]')
            [CompletionResult]::new('--stdout-file', '--stdout-file', [CompletionResultType]::ParameterName, 'Write the exact bytes of standard output here, in place once the run has ended; implies --json')
            [CompletionResult]::new('--output', '--output', [CompletionResultType]::ParameterName, 'The form of the output [default: raw when standard output is a terminal, else json]')
            [CompletionResult]::new('--stdin', '--stdin', [CompletionResultType]::ParameterName, 'Send our standard input to the command, and its end')
            [CompletionResult]::new('-n', '-n', [CompletionResultType]::ParameterName, 'Our standard input is not meant: neither refuse a file there nor warn about waiting data')
            [CompletionResult]::new('--argv', '--argv', [CompletionResultType]::ParameterName, 'Quote even a single word for the remote shell (for `"$@"` in scripts)')
            [CompletionResult]::new('--login', '--login', [CompletionResultType]::ParameterName, 'Run through a login shell, with its PATH; needs a POSIX shell there')
            [CompletionResult]::new('--pty', '--pty', [CompletionResultType]::ParameterName, 'Ask for a terminal there; both streams become one')
            [CompletionResult]::new('--no-exit-status', '--no-exit-status', [CompletionResultType]::ParameterName, 'For gear that never sends an exit status: an orderly end is success, with a warning')
            [CompletionResult]::new('--no-spill', '--no-spill', [CompletionResultType]::ParameterName, 'Do not keep a cut stream whole in the state directory')
            [CompletionResult]::new('--base64', '--base64', [CompletionResultType]::ParameterName, 'Put a stream with NUL bytes into the envelope as base64, where it fits; implies --json')
            [CompletionResult]::new('--remote-exit', '--remote-exit', [CompletionResultType]::ParameterName, 'End with the remote status: 1-63 and 79-254 pass, signals as 128+n, all else that is not 0 is 1')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Short for --output json')
            [CompletionResult]::new('--raw', '--raw', [CompletionResultType]::ParameterName, 'Short for --output raw')
            [CompletionResult]::new('--detail', '--detail', [CompletionResultType]::ParameterName, 'Every field of the envelope')
            [CompletionResult]::new('-v', '-v', [CompletionResultType]::ParameterName, 'Log to standard error; repeat it for more')
            [CompletionResult]::new('--verbose', '--verbose', [CompletionResultType]::ParameterName, 'Log to standard error; repeat it for more')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'ssh-cli;check' {
            [CompletionResult]::new('-F', '-F ', [CompletionResultType]::ParameterName, '`ssh_config` to read instead of the user''s and the system''s; `none` reads none')
            [CompletionResult]::new('--config', '--config', [CompletionResultType]::ParameterName, '`ssh_config` to read instead of the user''s and the system''s; `none` reads none')
            [CompletionResult]::new('-o', '-o', [CompletionResultType]::ParameterName, 'One `ssh_config` option, as in OpenSSH; repeatable, and stronger than the file')
            [CompletionResult]::new('--option', '--option', [CompletionResultType]::ParameterName, 'One `ssh_config` option, as in OpenSSH; repeatable, and stronger than the file')
            [CompletionResult]::new('-l', '-l', [CompletionResultType]::ParameterName, 'The remote user [default: from the config, else the local user]')
            [CompletionResult]::new('--user', '--user', [CompletionResultType]::ParameterName, 'The remote user [default: from the config, else the local user]')
            [CompletionResult]::new('-p', '-p', [CompletionResultType]::ParameterName, 'The port [default: from the config, else 22]')
            [CompletionResult]::new('-P', '-P ', [CompletionResultType]::ParameterName, 'The port [default: from the config, else 22]')
            [CompletionResult]::new('--port', '--port', [CompletionResultType]::ParameterName, 'The port [default: from the config, else 22]')
            [CompletionResult]::new('-i', '-i', [CompletionResultType]::ParameterName, 'Only this key; repeatable')
            [CompletionResult]::new('--identity', '--identity', [CompletionResultType]::ParameterName, 'Only this key; repeatable')
            [CompletionResult]::new('-J', '-J ', [CompletionResultType]::ParameterName, 'Bastions to go through, in this order [default: `ProxyJump`, `ProxyCommand`]')
            [CompletionResult]::new('--jump', '--jump', [CompletionResultType]::ParameterName, 'Bastions to go through, in this order [default: `ProxyJump`, `ProxyCommand`]')
            [CompletionResult]::new('--password', '--password', [CompletionResultType]::ParameterName, 'Where the password comes from; nothing is ever asked for without it')
            [CompletionResult]::new('--passphrase', '--passphrase', [CompletionResultType]::ParameterName, 'Where the passphrase of an encrypted key comes from (a SRC, as for --password)')
            [CompletionResult]::new('--otp', '--otp', [CompletionResultType]::ParameterName, 'Where a one-time code comes from (a SRC, as for --password); asked anew at each attempt')
            [CompletionResult]::new('--host-key-policy', '--host-key-policy', [CompletionResultType]::ParameterName, 'How the host key is judged [default: `StrictHostKeyChecking`, else strict]')
            [CompletionResult]::new('--host-key', '--host-key', [CompletionResultType]::ParameterName, 'Accept exactly this host key for DEST, and write nothing; repeatable')
            [CompletionResult]::new('--connect-timeout', '--connect-timeout', [CompletionResultType]::ParameterName, 'Limit of one attempt, until the channel is open, all hops together [default: 15s]')
            [CompletionResult]::new('--deadline', '--deadline', [CompletionResultType]::ParameterName, 'Limit of the whole invocation, retries and waits included; when it is over the run ends as by --timeout')
            [CompletionResult]::new('--keepalive', '--keepalive', [CompletionResultType]::ParameterName, 'A silent connection is probed this often, and lost after three unanswered probes; 0 turns it off [default: 15s]')
            [CompletionResult]::new('--retries', '--retries', [CompletionResultType]::ParameterName, 'Try again so often after a failure that is transient and safe to repeat, at most 10 times [default: 0]')
            [CompletionResult]::new('--retry-base', '--retry-base', [CompletionResultType]::ParameterName, 'The base of the waits: each is drawn from 0 to base times 2^attempt [default: 200ms]')
            [CompletionResult]::new('--retry-max-delay', '--retry-max-delay', [CompletionResultType]::ParameterName, 'The longest wait, at most 60s [default: 5s]')
            [CompletionResult]::new('--retry-wait', '--retry-wait', [CompletionResultType]::ParameterName, 'Wait exactly so long instead of the draw, but never over the longest wait')
            [CompletionResult]::new('--output', '--output', [CompletionResultType]::ParameterName, 'The form of the output [default: raw when standard output is a terminal, else json]')
            [CompletionResult]::new('--offline', '--offline', [CompletionResultType]::ParameterName, 'Print the resolved target, and touch no network')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Short for --output json')
            [CompletionResult]::new('--raw', '--raw', [CompletionResultType]::ParameterName, 'Short for --output raw')
            [CompletionResult]::new('--detail', '--detail', [CompletionResultType]::ParameterName, 'Every field of the envelope')
            [CompletionResult]::new('-v', '-v', [CompletionResultType]::ParameterName, 'Log to standard error; repeat it for more')
            [CompletionResult]::new('--verbose', '--verbose', [CompletionResultType]::ParameterName, 'Log to standard error; repeat it for more')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'ssh-cli;schema' {
            [CompletionResult]::new('--output', '--output', [CompletionResultType]::ParameterName, 'The form of the output [default: raw when standard output is a terminal, else json]')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Short for --output json')
            [CompletionResult]::new('--raw', '--raw', [CompletionResultType]::ParameterName, 'Short for --output raw')
            [CompletionResult]::new('--detail', '--detail', [CompletionResultType]::ParameterName, 'Every field of the envelope')
            [CompletionResult]::new('-v', '-v', [CompletionResultType]::ParameterName, 'Log to standard error; repeat it for more')
            [CompletionResult]::new('--verbose', '--verbose', [CompletionResultType]::ParameterName, 'Log to standard error; repeat it for more')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'ssh-cli;exit-codes' {
            [CompletionResult]::new('--output', '--output', [CompletionResultType]::ParameterName, 'The form of the output [default: raw when standard output is a terminal, else json]')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Short for --output json')
            [CompletionResult]::new('--raw', '--raw', [CompletionResultType]::ParameterName, 'Short for --output raw')
            [CompletionResult]::new('--detail', '--detail', [CompletionResultType]::ParameterName, 'Every field of the envelope')
            [CompletionResult]::new('-v', '-v', [CompletionResultType]::ParameterName, 'Log to standard error; repeat it for more')
            [CompletionResult]::new('--verbose', '--verbose', [CompletionResultType]::ParameterName, 'Log to standard error; repeat it for more')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'ssh-cli;completions' {
            [CompletionResult]::new('--output', '--output', [CompletionResultType]::ParameterName, 'The form of the output [default: raw when standard output is a terminal, else json]')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Short for --output json')
            [CompletionResult]::new('--raw', '--raw', [CompletionResultType]::ParameterName, 'Short for --output raw')
            [CompletionResult]::new('--detail', '--detail', [CompletionResultType]::ParameterName, 'Every field of the envelope')
            [CompletionResult]::new('-v', '-v', [CompletionResultType]::ParameterName, 'Log to standard error; repeat it for more')
            [CompletionResult]::new('--verbose', '--verbose', [CompletionResultType]::ParameterName, 'Log to standard error; repeat it for more')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'ssh-cli;help' {
            [CompletionResult]::new('exec', 'exec', [CompletionResultType]::ParameterValue, 'Run one command on another machine')
            [CompletionResult]::new('scp', 'scp', [CompletionResultType]::ParameterValue, 'Copy files to or from another machine')
            [CompletionResult]::new('sudo-exec', 'sudo-exec', [CompletionResultType]::ParameterValue, 'Run one command with another user''s rights, by sudo')
            [CompletionResult]::new('su-exec', 'su-exec', [CompletionResultType]::ParameterValue, 'Run one command with another user''s rights, by su')
            [CompletionResult]::new('check', 'check', [CompletionResultType]::ParameterValue, 'Connect and authenticate, run nothing, and say what each phase came to')
            [CompletionResult]::new('schema', 'schema', [CompletionResultType]::ParameterValue, 'Print a JSON Schema, the error codes or tool definitions')
            [CompletionResult]::new('exit-codes', 'exit-codes', [CompletionResultType]::ParameterValue, 'Print what each exit code means')
            [CompletionResult]::new('completions', 'completions', [CompletionResultType]::ParameterValue, 'Print a completion script for a shell')
            [CompletionResult]::new('help', 'help', [CompletionResultType]::ParameterValue, 'Print this message or the help of the given subcommand(s)')
            break
        }
        'ssh-cli;help;exec' {
            break
        }
        'ssh-cli;help;scp' {
            break
        }
        'ssh-cli;help;sudo-exec' {
            break
        }
        'ssh-cli;help;su-exec' {
            break
        }
        'ssh-cli;help;check' {
            break
        }
        'ssh-cli;help;schema' {
            break
        }
        'ssh-cli;help;exit-codes' {
            break
        }
        'ssh-cli;help;completions' {
            break
        }
        'ssh-cli;help;help' {
            break
        }
    })

    $completions.Where{ $_.CompletionText -like "$wordToComplete*" } |
        Sort-Object -Property ListItemText
}
