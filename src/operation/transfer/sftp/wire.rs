//! The packets of SFTP version 3 (draft-ietf-secsh-filexfer-02), written and read. Pure: whatever arrives, no panic, and no more
//! memory than a packet may have.

use bytes::{Buf as _, Bytes};

use super::attributes::Attributes;

/// The longest packet that is taken: 256 KiB of data, as OpenSSH has it, and what stands before it.
pub const PACKET_MAX: usize = 256 * 1024 + 1024;

/// How much of a server's sentence is kept.
const MESSAGE_MAX: usize = 512;

/// Packet types (section 3).
pub mod kind {
    pub const INIT: u8 = 1;
    pub const VERSION: u8 = 2;
    pub const OPEN: u8 = 3;
    pub const CLOSE: u8 = 4;
    pub const READ: u8 = 5;
    pub const WRITE: u8 = 6;
    pub const LSTAT: u8 = 7;
    pub const FSTAT: u8 = 8;
    pub const SETSTAT: u8 = 9;
    pub const FSETSTAT: u8 = 10;
    pub const OPENDIR: u8 = 11;
    pub const READDIR: u8 = 12;
    pub const REMOVE: u8 = 13;
    pub const MKDIR: u8 = 14;
    pub const RMDIR: u8 = 15;
    pub const REALPATH: u8 = 16;
    pub const STAT: u8 = 17;
    pub const RENAME: u8 = 18;
    pub const READLINK: u8 = 19;
    pub const SYMLINK: u8 = 20;
    pub const STATUS: u8 = 101;
    pub const HANDLE: u8 = 102;
    pub const DATA: u8 = 103;
    pub const NAME: u8 = 104;
    pub const ATTRS: u8 = 105;
    pub const EXTENDED: u8 = 200;
    pub const EXTENDED_REPLY: u8 = 201;
}

/// `pflags` of `SSH_FXP_OPEN` (section 6.3).
pub mod open {
    pub const READ: u32 = 0x01;
    pub const WRITE: u32 = 0x02;
    pub const CREATE: u32 = 0x08;
    pub const EXCLUSIVE: u32 = 0x20;
}

/// Status codes (section 7).
pub mod status {
    pub const OK: u32 = 0;
    pub const EOF: u32 = 1;
    pub const NO_SUCH_FILE: u32 = 2;
    pub const PERMISSION_DENIED: u32 = 3;
    pub const FAILURE: u32 = 4;
    pub const BAD_MESSAGE: u32 = 5;
    pub const NO_CONNECTION: u32 = 6;
    pub const CONNECTION_LOST: u32 = 7;
    pub const OP_UNSUPPORTED: u32 = 8;
}

/// What the server did that the protocol does not allow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation(pub String);

/// A request that is being written. Its number is put in when it is sent.
#[derive(Debug)]
pub struct Packet(Vec<u8>);

/// Where the number stands in a packet: after the length and the type.
const ID_AT: usize = 5;

impl Packet {
    /// `SSH_FXP_INIT` (section 4), the only request without a number.
    pub fn init() -> Bytes {
        let mut packet = Self(vec![0, 0, 0, 0, kind::INIT]);
        packet.u32(3);
        packet.finish(None)
    }

    /// A request of this type.
    pub fn new(kind: u8) -> Self {
        let mut packet = Vec::with_capacity(128);
        packet.extend_from_slice(&[0, 0, 0, 0, kind, 0, 0, 0, 0]);
        Self(packet)
    }

    /// A request of this type about a path or a handle.
    pub fn about(kind: u8, what: &[u8]) -> Self {
        Self::new(kind).string(what)
    }

    /// `SSH_FXP_EXTENDED` by this name (section 8).
    pub fn extended(name: &str) -> Self {
        Self::about(kind::EXTENDED, name.as_bytes())
    }

    /// `SSH_FXP_WRITE` with room for so much data, which `fill` puts behind what is there.
    pub fn write<E>(
        handle: &[u8],
        offset: u64,
        room: usize,
        fill: impl FnOnce(&mut Vec<u8>) -> Result<(), E>,
    ) -> Result<(Self, usize), E> {
        let mut packet = Vec::with_capacity(ID_AT + 4 + 4 + handle.len() + 8 + 4 + room);
        packet.extend_from_slice(&[0, 0, 0, 0, kind::WRITE, 0, 0, 0, 0]);
        let Self(mut packet) = Self(packet).string(handle).u64(offset).u32_more(0);
        let begin = packet.len();
        fill(&mut packet)?;
        let length = packet.len() - begin;
        packet[begin - 4..begin].copy_from_slice(&short(length).to_be_bytes());
        Ok((Self(packet), length))
    }

    /// A string.
    pub fn string(mut self, bytes: &[u8]) -> Self {
        self.u32(short(bytes.len()));
        self.0.extend_from_slice(bytes);
        self
    }

    /// A number.
    pub fn u32_more(mut self, number: u32) -> Self {
        self.u32(number);
        self
    }

    /// A long number.
    pub fn u64(mut self, number: u64) -> Self {
        self.0.extend_from_slice(&number.to_be_bytes());
        self
    }

    /// Attributes.
    pub fn attributes(mut self, attributes: &Attributes) -> Self {
        attributes.write(&mut self.0);
        self
    }

    /// The last so many bytes.
    pub fn tail(&self, length: usize) -> &[u8] {
        &self.0[self.0.len().saturating_sub(length)..]
    }

    fn u32(&mut self, number: u32) {
        self.0.extend_from_slice(&number.to_be_bytes());
    }

    /// The packet as it goes out.
    pub fn finish(self, id: impl Into<Option<u32>>) -> Bytes {
        let Self(mut packet) = self;
        if let Some(id) = id.into() {
            packet[ID_AT..ID_AT + 4].copy_from_slice(&id.to_be_bytes());
        }
        let length = short(packet.len() - 4);
        packet[..4].copy_from_slice(&length.to_be_bytes());
        Bytes::from(packet)
    }
}

/// Lengths of what we send: paths are bounded by the command line and by the packets they came in, data by the request.
fn short(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}

/// An answer (section 7).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// How it went.
    Status(Status),
    /// A file or directory was opened.
    Handle(Bytes),
    /// Data of a file, in the pieces in which it arrived.
    Data(Vec<Bytes>),
    /// Names.
    Names(Vec<Name>),
    /// Attributes.
    Attributes(Attributes),
    /// The answer to an extended request.
    Extended(Bytes),
}

/// How a request went.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Status {
    /// One of [`status`], or another.
    pub code: u32,
    /// The server's words, uncleaned.
    pub message: String,
}

/// An entry of a directory. The long form, which is for people, is not kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Name {
    /// Its name.
    pub name: Bytes,
    /// What is known of it.
    pub attributes: Attributes,
}

/// Reads fields.
#[derive(Debug)]
pub struct Fields(pub Bytes);

impl Fields {
    fn cut(what: &str) -> Violation {
        Violation(format!("an SFTP answer ends within {what}"))
    }

    /// A number.
    pub fn u32(&mut self) -> Result<u32, Violation> {
        self.0.try_get_u32().map_err(|_| Self::cut("a number"))
    }

    /// A long number.
    pub fn u64(&mut self) -> Result<u64, Violation> {
        self.0.try_get_u64().map_err(|_| Self::cut("a number"))
    }

    /// A string.
    pub fn string(&mut self) -> Result<Bytes, Violation> {
        let length = self.u32()? as usize;
        if length > self.0.len() {
            return Err(Self::cut("a string"));
        }
        Ok(self.0.split_to(length))
    }

    fn names(&mut self) -> Result<Vec<Name>, Violation> {
        let count = self.u32()? as usize;
        // Two strings and the flags of the attributes are the least.
        if count > self.0.len() / 12 {
            return Err(Self::cut("a list of names"));
        }
        let mut names = Vec::with_capacity(count);
        for _ in 0..count {
            let name = self.string()?;
            self.string()?;
            names.push(Name { name, attributes: Attributes::read(self)? });
        }
        Ok(names)
    }
}

/// A packet as it came: its type, and the pieces of what is behind it.
#[derive(Debug)]
pub struct Frame {
    /// The type.
    pub kind: u8,
    /// The rest.
    pub body: super::frames::Pieces,
}

impl Frame {
    /// The server's version and its extensions, each with a value (section 4).
    pub fn version(self) -> Result<(u32, Vec<(Bytes, Bytes)>), Violation> {
        let mut fields = Fields(self.body.into_one());
        let version = fields.u32()?;
        let mut extensions = Vec::new();
        while !fields.0.is_empty() {
            extensions.push((fields.string()?, fields.string()?));
        }
        Ok((version, extensions))
    }

    /// The answer, and the number of the request that it answers.
    pub fn reply(self) -> Result<(u32, Reply), Violation> {
        let Self { kind, mut body } = self;
        if kind == kind::DATA {
            let mut head = Fields(body.take(8).ok_or_else(|| Fields::cut("its head"))?);
            let (id, length) = (head.u32()?, head.u32()? as usize);
            if length != body.len() {
                return Err(Violation(format!("an SFTP answer has {} bytes and says {length}", body.len())));
            }
            return Ok((id, Reply::Data(body.into_pieces())));
        }
        let mut fields = Fields(body.into_one());
        let id = fields.u32()?;
        let reply = match kind {
            kind::STATUS => {
                let code = fields.u32()?;
                // Old servers leave the words out.
                let message = fields.string().unwrap_or_default();
                let message = String::from_utf8_lossy(&message[..message.len().min(MESSAGE_MAX)]).into_owned();
                Reply::Status(Status { code, message })
            }
            kind::HANDLE => match fields.string()? {
                handle if handle.len() <= 256 => Reply::Handle(handle),
                handle => return Err(Violation(format!("an SFTP handle of {} bytes", handle.len()))),
            },
            kind::NAME => Reply::Names(fields.names()?),
            kind::ATTRS => Reply::Attributes(Attributes::read(&mut fields)?),
            kind::EXTENDED_REPLY => Reply::Extended(fields.0),
            other => return Err(Violation(format!("an SFTP packet of type {other} where an answer was due"))),
        };
        Ok((id, reply))
    }
}
