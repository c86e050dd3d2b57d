//! Attributes of a file (draft-ietf-secsh-filexfer-02 section 5).

use super::wire::{Fields, Violation};

const SIZE: u32 = 0x01;
const OWNER: u32 = 0x02;
const PERMISSIONS: u32 = 0x04;
const TIMES: u32 = 0x08;
const EXTENDED: u32 = 0x8000_0000;

/// What is known, or wished, of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Attributes {
    /// Bytes.
    pub size: Option<u64>,
    /// User and group.
    pub owner: Option<(u32, u32)>,
    /// `st_mode`.
    pub permissions: Option<u32>,
    /// When it was read and when it was changed, in seconds since 1970.
    pub times: Option<(u32, u32)>,
}

/// What a mode says that a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Type {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link.
    Symlink,
    /// Something else; the word for it.
    Other(&'static str),
}

impl Attributes {
    /// Permission bits only.
    pub fn mode(mode: u32) -> Self {
        Self { permissions: Some(mode), ..Self::default() }
    }

    /// Whether nothing is said.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// What it is, where the mode says so.
    pub fn file_type(&self) -> Option<Type> {
        Some(match self.permissions? & 0o170_000 {
            0o100_000 => Type::File,
            0o040_000 => Type::Directory,
            0o120_000 => Type::Symlink,
            0o010_000 => Type::Other("fifo"),
            0o140_000 => Type::Other("socket"),
            0o020_000 | 0o060_000 => Type::Other("device"),
            _ => return None,
        })
    }

    /// Permission bits, without setuid, setgid and sticky.
    pub fn bits(&self) -> Option<u32> {
        self.permissions.map(|mode| mode & 0o777)
    }

    pub(super) fn write(&self, to: &mut Vec<u8>) {
        let bit = |is_there: bool, bit: u32| if is_there { bit } else { 0 };
        let flags = bit(self.size.is_some(), SIZE)
            | bit(self.owner.is_some(), OWNER)
            | bit(self.permissions.is_some(), PERMISSIONS)
            | bit(self.times.is_some(), TIMES);
        to.extend_from_slice(&flags.to_be_bytes());
        to.extend(self.size.iter().flat_map(|size| size.to_be_bytes()));
        let owner = self.owner.map(|(user, group)| [user, group]);
        let times = self.times.map(|(read, changed)| [read, changed]);
        let numbers = owner.into_iter().flatten().chain(self.permissions).chain(times.into_iter().flatten());
        to.extend(numbers.flat_map(u32::to_be_bytes));
    }

    pub(super) fn read(fields: &mut Fields) -> Result<Self, Violation> {
        let flags = fields.u32()?;
        let mut found = Self::default();
        if flags & SIZE != 0 {
            found.size = Some(fields.u64()?);
        }
        if flags & OWNER != 0 {
            found.owner = Some((fields.u32()?, fields.u32()?));
        }
        if flags & PERMISSIONS != 0 {
            found.permissions = Some(fields.u32()?);
        }
        if flags & TIMES != 0 {
            found.times = Some((fields.u32()?, fields.u32()?));
        }
        if flags & EXTENDED != 0 {
            // Pairs that nobody here asked for: read past. Each takes bytes of the packet, so a lie about the count ends there.
            for _ in 0..fields.u32()? {
                fields.string()?;
                fields.string()?;
            }
        }
        Ok(found)
    }
}
