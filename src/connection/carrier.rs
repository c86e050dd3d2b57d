//! What carries one connection's bytes: a socket, a channel of the bastion before it, or a command of the caller's.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use russh::ChannelStream;
use russh::client::Msg;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

use super::proxy::ProxyCommand;
use super::wire::Transport;

/// One of the three.
pub(super) enum Carrier {
    Tcp(TcpStream),
    Forwarded(Box<ChannelStream<Msg>>),
    Command(ProxyCommand),
}

impl Transport for Carrier {
    fn acknowledge(&self) {
        if let Self::Tcp(stream) = self {
            // The kernel drops out of quick-ACK mode by itself, so it is re-armed each time. A failure only costs speed.
            #[cfg(target_os = "linux")]
            let _ = rustix::net::sockopt::set_tcp_quickack(stream, true);
            #[cfg(not(target_os = "linux"))]
            let _ = stream;
        }
    }
}

impl AsyncRead for Carrier {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_read(cx, buf),
            Self::Forwarded(stream) => Pin::new(&mut **stream).poll_read(cx, buf),
            Self::Command(command) => Pin::new(&mut command.stdout).poll_read(cx, buf),
        }
    }
}

impl AsyncWrite for Carrier {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, data: &[u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_write(cx, data),
            Self::Forwarded(stream) => Pin::new(&mut **stream).poll_write(cx, data),
            Self::Command(command) => Pin::new(&mut command.stdin).poll_write(cx, data),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_flush(cx),
            Self::Forwarded(stream) => Pin::new(&mut **stream).poll_flush(cx),
            Self::Command(command) => Pin::new(&mut command.stdin).poll_flush(cx),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_shutdown(cx),
            Self::Forwarded(stream) => Pin::new(&mut **stream).poll_shutdown(cx),
            Self::Command(command) => Pin::new(&mut command.stdin).poll_shutdown(cx),
        }
    }
}
