//! Runs the account's own tools: one argument list, JSON on standard input, JSON on standard output,
//! a deadline. Never a shell, and never a tool that the account does not name.

use crate::domain::io_words;
use process_wrap::tokio::{ChildWrapper, CommandWrap};
use std::io;
use std::process::Stdio;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::Command;
use tokio::time::timeout;

/// Most that is taken of the output.
const OUTPUT_LIMIT: u64 = 4 * 1024 * 1024;
/// Most that is read of standard error, for the words.
const ERROR_LIMIT: u64 = 16 * 1024;

/// Runs one tool; gives its output, or what went wrong in a sentence.
pub async fn run(command: &[String], input: String, deadline: Duration) -> Result<String, String> {
    let Some((program, arguments)) = command.split_first() else {
        return Err("No command is set for this tool.".into());
    };
    let mut prepared = Command::new(program);
    prepared
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    for name in super::secrets::variables() {
        prepared.env_remove(name);
    }
    let mut wrap = CommandWrap::from(prepared);
    #[cfg(unix)]
    wrap.wrap(process_wrap::tokio::ProcessGroup::leader());
    wrap.wrap(process_wrap::tokio::KillOnDrop);
    let child = wrap
        .spawn()
        .map_err(|error| format!("{program} could not be started: {}", io_words(&error)))?;
    let mut group = Group(child);
    match timeout(deadline, group.talk(input)).await {
        Ok(result) => result,
        Err(_) => Err(format!(
            "{program} did not finish within {} seconds and was stopped.",
            deadline.as_secs()
        )),
    }
}

/// Kills what the tool started, on every way out.
struct Group(Box<dyn ChildWrapper>);

impl Drop for Group {
    fn drop(&mut self) {
        let _ = self.0.start_kill();
    }
}

impl Group {
    async fn talk(&mut self, input: String) -> Result<String, String> {
        let (stdin, stdout, stderr) = (
            self.0.stdin().take(),
            self.0.stdout().take(),
            self.0.stderr().take(),
        );
        let write = async {
            if let Some(mut stdin) = stdin {
                // A tool that does not read its input may still answer.
                let _ = stdin.write_all(input.as_bytes()).await;
                let _ = stdin.write_all(b"\n").await;
            }
        };
        let ((), output, errors) = tokio::join!(
            write,
            read_up_to(stdout, OUTPUT_LIMIT),
            read_up_to(stderr, ERROR_LIMIT)
        );
        let output = output
            .map_err(|error| format!("Its output could not be read: {}", io_words(&error)))?;
        if output.len() as u64 > OUTPUT_LIMIT {
            let most = crate::text::size_words(OUTPUT_LIMIT);
            return Err(format!("It wrote more than {most}."));
        }
        let status = self
            .0
            .inner_mut()
            .wait()
            .await
            .map_err(|error| format!("It could not be watched: {}", io_words(&error)))?;
        if !status.success() {
            let errors = errors.unwrap_or_default();
            let text = String::from_utf8_lossy(&errors);
            let last = text.lines().rev().find(|line| !line.trim().is_empty());
            return Err(match last {
                Some(line) => format!("It failed ({status}): {}", line.trim()),
                None => format!("It failed ({status})."),
            });
        }
        let output =
            String::from_utf8(output).map_err(|_| "Its output is not valid text.".to_owned())?;
        match serde_json::from_str::<serde::de::IgnoredAny>(&output) {
            Ok(_) => Ok(output.trim().to_owned()),
            Err(error) => Err(format!("Its output is not JSON: {error}")),
        }
    }
}

async fn read_up_to(stream: Option<impl AsyncRead + Unpin>, limit: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    if let Some(mut stream) = stream {
        // One more than allowed, to see that it was too much; the rest is read and thrown away, so
        // that the tool does not hang on a full pipe.
        (&mut stream)
            .take(limit + 1)
            .read_to_end(&mut bytes)
            .await?;
        tokio::io::copy(&mut stream, &mut tokio::io::sink()).await?;
    }
    Ok(bytes)
}

#[cfg(all(test, unix))]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    async fn shell(script: &str, deadline: Duration) -> Result<String, String> {
        let command = ["sh", "-c", script].map(str::to_owned);
        run(&command, r#"{"path":"a b"}"#.into(), deadline).await
    }

    const LONG: Duration = Duration::from_secs(30);

    #[tokio::test]
    async fn a_tool_gets_json_and_gives_json() {
        let result = shell("read line; echo \"{\\\"got\\\": $line}\"", LONG).await;
        assert_eq!(result.unwrap(), r#"{"got": {"path":"a b"}}"#);
    }

    #[tokio::test]
    async fn a_tool_that_fails_says_why() {
        let result = shell("echo first >&2; echo 'no such file' >&2; exit 4", LONG).await;
        let words = result.unwrap_err();
        assert!(
            words.contains('4') && words.contains("no such file"),
            "{words}"
        );
        assert!(
            shell("echo hello", LONG)
                .await
                .unwrap_err()
                .contains("not JSON")
        );
    }

    #[tokio::test]
    async fn a_tool_that_hangs_is_stopped() {
        let words = shell("sleep 600", Duration::from_millis(50))
            .await
            .unwrap_err();
        assert!(words.contains("did not finish"), "{words}");
    }

    #[tokio::test]
    async fn a_tool_without_a_command_or_a_program_is_refused() {
        assert!(run(&[], String::new(), LONG).await.is_err());
        let missing = ["/no/such/tool".to_owned()];
        assert!(run(&missing, String::new(), LONG).await.is_err());
    }
}
