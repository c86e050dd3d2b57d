//! The operations of the server, one function each. A request goes out when the function is called; its answer is waited for
//! when the future is: several of them in a row make one flight.

use std::cell::Cell;
use std::fmt;
use std::future::Future;

use bytes::Bytes;
use futures_util::FutureExt as _;
use futures_util::future::LocalBoxFuture;

use super::attributes::Attributes;
use super::client::{Client, Opening};
use super::extensions::{Extensions, Sizes};
use super::window::Window;
use super::wire::{Fields, Name, Packet, Reply, Status, Violation, kind, open, status};
use crate::connection::channel::{ChannelReader, ChannelWriter};
use crate::errors::Fault;
use crate::model::outcome::Phase;
use crate::operation::transfer::Broken;

/// The longest path that is taken from a server, in bytes: twice the `PATH_MAX` of Linux.
pub const PATH_MOST: usize = 8192;

/// A server.
pub struct Remote {
    client: Client,
    extensions: Extensions,
    /// The most that one `READ` or `WRITE` may carry, as far as that is known.
    sizes: Cell<Sizes>,
    /// Where that was asked for, and not answered yet.
    limits: Cell<Option<LocalBoxFuture<'static, Option<Sizes>>>>,
    /// What may be on its way to it.
    pub writing: Window,
    /// What may be on its way from it.
    pub reading: Window,
}

impl fmt::Debug for Remote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Remote").field("client", &self.client).finish_non_exhaustive()
    }
}

/// Why an operation was not done.
#[derive(Clone, Debug)]
pub enum Denied {
    /// The server said no.
    Status(Status),
    /// There was no answer, or none that has a meaning.
    Fault(Fault),
}

impl From<Fault> for Denied {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

impl From<Violation> for Denied {
    fn from(Violation(problem): Violation) -> Self {
        Self::Fault(violation(problem))
    }
}

impl Denied {
    /// The server's code.
    pub fn code(&self) -> Option<u32> {
        match self {
            Self::Status(status) => Some(status.code),
            Self::Fault(_) => None,
        }
    }
}

/// The fault of a server that broke the protocol.
pub fn violation(problem: impl Into<String>) -> Fault {
    Fault::ServerViolation { problem: problem.into(), phase: Phase::Transfer }
}

/// What came of an operation.
pub type Answer<T> = Result<T, Denied>;

/// The state of a file system (`statvfs@openssh.com`).
#[derive(Clone, Copy, Debug)]
pub struct Space {
    /// Bytes that this account may still write.
    pub free: u64,
    /// Files that it may still make.
    pub free_files: u64,
    /// It is mounted read-only.
    pub read_only: bool,
    /// Its number, by which it is told from others.
    pub id: u64,
}

/// A server that was asked to begin.
pub struct Beginning {
    client: Client,
    opening: Opening,
}

impl Beginning {
    /// On this channel. `home` is asked for in the same flight.
    pub async fn on(channel: (ChannelReader, ChannelWriter)) -> Self {
        let (client, opening) = Client::begin(channel).await;
        Self { client, opening }
    }

    /// With a server that runs on this channel already.
    pub fn with(channel: (ChannelReader, ChannelWriter)) -> Self {
        let (client, opening) = Client::with(channel);
        Self { client, opening }
    }

    /// Waits until it has begun. `most`: bytes on their way at any time. The path of the account's home directory comes with it.
    pub async fn ready(self, most: usize) -> Result<(Remote, Vec<u8>), Broken> {
        let Self { client, opening } = self;
        let home = client.ask(Packet::about(kind::REALPATH, b"."));
        let extensions = Extensions::of(&opening.answer().await?);
        let limits = extensions.limits.then(|| {
            let answer = client.ask(Packet::extended("limits@openssh.com"));
            let sizes = async move {
                match answer.await {
                    Ok(Reply::Extended(limits)) => Sizes::of(limits),
                    _ => None,
                }
            };
            sizes.boxed_local()
        });
        let home = one_name(home.await).unwrap_or_else(|_| b".".to_vec());
        let sizes = Sizes::GUARANTEED;
        let (writing, reading) = (Window::new(most, sizes.write), Window::new(most, sizes.read));
        if !client.is_usable() {
            // It says how it ended.
            client.ask(Packet::about(kind::REALPATH, b".")).await?;
        }
        let (sizes, limits) = (Cell::new(sizes), Cell::new(limits));
        Ok((Remote { client, extensions, sizes, limits, writing, reading }, home))
    }
}

impl Remote {
    /// Waits for what the server says of its limits. Asked for in the beginning, it comes before the answer to what was asked
    /// later, so that nobody waits long who has opened a file.
    pub async fn sized(&self) {
        let Some(limits) = self.limits.take() else { return };
        if let Some(sizes) = limits.await {
            self.sizes.set(sizes);
            self.writing.in_requests_of(sizes.write);
            self.reading.in_requests_of(sizes.read);
        }
    }

    /// What one `WRITE` may carry.
    pub fn write_max(&self) -> usize {
        self.sizes.get().write
    }

    /// The channel itself.
    pub fn client(&self) -> &Client {
        &self.client
    }

    fn ask(&self, packet: Packet) -> impl Future<Output = Answer<Reply>> + use<> {
        let answer = self.client.ask(packet);
        async move {
            match answer.await? {
                Reply::Status(status) if status.code != status::OK => Err(Denied::Status(status)),
                reply => Ok(reply),
            }
        }
    }

    fn done(&self, packet: Packet) -> impl Future<Output = Answer<()>> + use<> {
        let answer = self.ask(packet);
        async move {
            match answer.await? {
                Reply::Status(_) => Ok(()),
                _ => Err(unexpected()),
            }
        }
    }

    fn handle(&self, packet: Packet) -> impl Future<Output = Answer<Bytes>> + use<> {
        let answer = self.ask(packet);
        async move {
            match answer.await? {
                Reply::Handle(handle) => Ok(handle),
                _ => Err(unexpected()),
            }
        }
    }

    fn attributes(&self, packet: Packet) -> impl Future<Output = Answer<Attributes>> + use<> {
        let answer = self.ask(packet);
        async move {
            match answer.await? {
                Reply::Attributes(attributes) => Ok(attributes),
                _ => Err(unexpected()),
            }
        }
    }

    /// Opens a file; `flags` of [`open`].
    pub fn open(&self, path: &[u8], flags: u32, mode: Option<u32>) -> impl Future<Output = Answer<Bytes>> + use<> {
        let attributes = Attributes { permissions: mode, ..Attributes::default() };
        self.handle(Packet::about(kind::OPEN, path).u32_more(flags).attributes(&attributes))
    }

    /// Opens a file for reading.
    pub fn open_to_read(&self, path: &[u8]) -> impl Future<Output = Answer<Bytes>> + use<> {
        self.open(path, open::READ, None)
    }

    /// Closes a file or a directory.
    pub fn close(&self, handle: &[u8]) -> impl Future<Output = Answer<()>> + use<> {
        self.done(Packet::about(kind::CLOSE, handle))
    }

    /// Reads. An answer of no bytes is the end of the file; one of more than was asked for is a violation.
    pub fn read(&self, handle: &[u8], offset: u64, length: usize) -> impl Future<Output = Answer<Vec<Bytes>>> + use<> {
        let asked = u32::try_from(length).unwrap_or(u32::MAX);
        let answer = self.ask(Packet::about(kind::READ, handle).u64(offset).u32_more(asked));
        async move {
            match answer.await {
                Ok(Reply::Data(pieces)) => match pieces.iter().map(Bytes::len).sum::<usize>() {
                    0 => Err(violation("an SFTP answer with no data in it").into()),
                    got if got > length => Err(violation(format!("{got} bytes where {length} were asked for")).into()),
                    _ => Ok(pieces),
                },
                Ok(_) => Err(unexpected()),
                Err(Denied::Status(status)) if status.code == status::EOF => Ok(Vec::new()),
                Err(denied) => Err(denied),
            }
        }
    }

    /// Sends a packet of [`Packet::write`].
    pub fn write(&self, packet: Packet) -> impl Future<Output = Answer<()>> + use<> {
        self.done(packet)
    }

    /// What is at a path; links are followed.
    pub fn stat(&self, path: &[u8]) -> impl Future<Output = Answer<Attributes>> + use<> {
        self.attributes(Packet::about(kind::STAT, path))
    }

    /// What is at a path; a link is a link.
    pub fn lstat(&self, path: &[u8]) -> impl Future<Output = Answer<Attributes>> + use<> {
        self.attributes(Packet::about(kind::LSTAT, path))
    }

    /// What an open file is.
    pub fn fstat(&self, handle: &[u8]) -> impl Future<Output = Answer<Attributes>> + use<> {
        self.attributes(Packet::about(kind::FSTAT, handle))
    }

    /// Sets attributes at a path.
    pub fn setstat(&self, path: &[u8], attributes: &Attributes) -> impl Future<Output = Answer<()>> + use<> {
        self.done(Packet::about(kind::SETSTAT, path).attributes(attributes))
    }

    /// Sets attributes of a link itself; none where the server cannot.
    pub fn lsetstat(&self, path: &[u8], attributes: &Attributes) -> Option<impl Future<Output = Answer<()>> + use<>> {
        let packet = || Packet::extended("lsetstat@openssh.com").string(path).attributes(attributes);
        self.extensions.lsetstat.then(|| self.done(packet()))
    }

    /// Sets attributes of an open file.
    pub fn fsetstat(&self, handle: &[u8], attributes: &Attributes) -> impl Future<Output = Answer<()>> + use<> {
        self.done(Packet::about(kind::FSETSTAT, handle).attributes(attributes))
    }

    /// Brings a file to the disk; none where the server cannot.
    pub fn fsync(&self, handle: &[u8]) -> Option<impl Future<Output = Answer<()>> + use<>> {
        self.extensions.fsync.then(|| self.done(Packet::extended("fsync@openssh.com").string(handle)))
    }

    /// Opens a directory.
    pub fn opendir(&self, path: &[u8]) -> impl Future<Output = Answer<Bytes>> + use<> {
        self.handle(Packet::about(kind::OPENDIR, path))
    }

    /// More entries of a directory; none at its end.
    pub fn readdir(&self, handle: &[u8]) -> impl Future<Output = Answer<Option<Vec<Name>>>> + use<> {
        let answer = self.ask(Packet::about(kind::READDIR, handle));
        async move {
            match answer.await {
                Ok(Reply::Names(names)) => Ok(Some(names)),
                Ok(_) => Err(unexpected()),
                Err(Denied::Status(status)) if status.code == status::EOF => Ok(None),
                Err(denied) => Err(denied),
            }
        }
    }

    /// Removes a file.
    pub fn remove(&self, path: &[u8]) -> impl Future<Output = Answer<()>> + use<> {
        self.done(Packet::about(kind::REMOVE, path))
    }

    /// Removes an empty directory.
    pub fn rmdir(&self, path: &[u8]) -> impl Future<Output = Answer<()>> + use<> {
        self.done(Packet::about(kind::RMDIR, path))
    }

    /// Makes a directory.
    pub fn mkdir(&self, path: &[u8], mode: Option<u32>) -> impl Future<Output = Answer<()>> + use<> {
        let attributes = Attributes { permissions: mode, ..Attributes::default() };
        self.done(Packet::about(kind::MKDIR, path).attributes(&attributes))
    }

    /// Renames; with `posix-rename@openssh.com` over what is there.
    pub fn rename(&self, from: &[u8], to: &[u8]) -> impl Future<Output = Answer<()>> + use<> {
        let packet = if self.extensions.posix_rename {
            Packet::extended("posix-rename@openssh.com")
        } else {
            Packet::new(kind::RENAME)
        };
        self.done(packet.string(from).string(to))
    }

    /// Whether [`Remote::rename`] replaces what is there.
    pub fn rename_replaces(&self) -> bool {
        self.extensions.posix_rename
    }

    /// Makes a link. The draft has its path first; OpenSSH, and whoever wants to talk with it, what it says (its `PROTOCOL`, section
    /// 4.1).
    pub fn symlink(&self, text: &[u8], link: &[u8], text_first: bool) -> impl Future<Output = Answer<()>> + use<> {
        let (first, second) = if text_first { (text, link) } else { (link, text) };
        self.done(Packet::about(kind::SYMLINK, first).string(second))
    }

    /// What a link says.
    pub fn readlink(&self, path: &[u8]) -> impl Future<Output = Answer<Vec<u8>>> + use<> {
        let answer = self.client.ask(Packet::about(kind::READLINK, path));
        async move { one_name(answer.await) }
    }

    /// The path without links and dots.
    pub fn realpath(&self, path: &[u8]) -> impl Future<Output = Answer<Vec<u8>>> + use<> {
        let answer = self.client.ask(Packet::about(kind::REALPATH, path));
        async move { one_name(answer.await) }
    }

    /// The path with a leading `~user` spelled out; none where the server cannot.
    pub fn expand(&self, path: &[u8]) -> Option<impl Future<Output = Answer<Vec<u8>>> + use<>> {
        self.extensions.expand_path.then(|| {
            let answer = self.client.ask(Packet::extended("expand-path@openssh.com").string(path));
            async move { one_name(answer.await) }
        })
    }

    /// The file system of a path; none where the server cannot say.
    pub async fn space(&self, path: &[u8]) -> Option<Space> {
        if !self.extensions.statvfs {
            return None;
        }
        let Ok(Reply::Extended(reply)) = self.ask(Packet::extended("statvfs@openssh.com").string(path)).await else {
            return None;
        };
        let mut fields = Fields(reply);
        // bsize frsize blocks bfree bavail files ffree favail fsid flag namemax
        let mut numbers = [0_u64; 10];
        for number in &mut numbers {
            *number = fields.u64().ok()?;
        }
        let [_, unit, _, _, blocks, files, _, free_files, id, flags] = numbers;
        Some(Space {
            free: unit.saturating_mul(blocks),
            // A file system without a table of files says 0 of 0.
            free_files: if files == 0 { u64::MAX } else { free_files },
            read_only: flags & 1 != 0,
            id,
        })
    }
}

fn one_name(reply: Result<Reply, Fault>) -> Answer<Vec<u8>> {
    match reply? {
        Reply::Names(names) => match <[Name; 1]>::try_from(names) {
            Ok([name]) if !name.name.contains(&0) && name.name.len() <= PATH_MOST => Ok(name.name.to_vec()),
            _ => Err(violation("an SFTP answer that should hold one path").into()),
        },
        Reply::Status(status) => Err(Denied::Status(status)),
        _ => Err(unexpected()),
    }
}

fn unexpected() -> Denied {
    violation("an SFTP answer of the wrong kind").into()
}
