//! `ssh-cli scp` beside `scp`: one large file, one on a long way, and many small ones, each up and down.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::client::{Cost, Pair, show_memory};
use crate::delay::DelayProxy;
use crate::server::Server;
use crate::{Fallible, Plan};

/// Half of the round trip of the long way: 20 ms there and back.
const ONE_WAY: Duration = Duration::from_millis(10);
const SMALL_BYTES: usize = 4096;

/// Both ends are on one file system, which is memory where there is enough of it: a disk would be measured else, and its cache.
struct Field<'a> {
    server: &'a Server,
    port: u16,
    source: PathBuf,
    target: PathBuf,
}

enum Way {
    Up,
    Down,
}

pub fn compare(plan: &Plan, server: &Server) -> Fallible<()> {
    let place = tempfile::tempdir_in(in_memory(plan.stream_mib << 21))?;
    let (large, far, small) = (plan.stream_mib, plan.far_mib, plan.small_files);
    let field =
        |port, name: &str| Field { server, port, source: place.path().join(name), target: place.path().join("target") };
    let large_rows =
        [(Way::Up, format!("scp up, {large} MiB"), 0.9), (Way::Down, format!("scp down, {large} MiB"), 0.9)];
    let far_rows = [
        (Way::Up, format!("scp up, {far} MiB at 20 ms"), 0.4),
        (Way::Down, format!("scp down, {far} MiB at 20 ms"), 0.3),
    ];
    let small_rows = [
        (Way::Up, format!("scp up, {small} files of 4 KiB"), 0.5),
        (Way::Down, format!("scp down, {small} files of 4 KiB"), 0.5),
    ];
    let mut peaks = Vec::new();
    for (way, row, target) in large_rows.into_iter().filter(|(_, row, _)| plan.wants(row)) {
        let field = field(server.port, "large");
        sized(&field.source, large)?;
        let pair = Pair::of(plan.stream_runs, || field.turn(&way))?;
        pair.show(&row, Some(target), Some(target));
        peaks.push((row, pair.ours.peak_mib));
    }
    for (way, row, target) in far_rows.into_iter().filter(|(_, row, _)| plan.wants(row)) {
        let proxy = DelayProxy::start(server.port, ONE_WAY)?;
        let field = field(proxy.port, "far");
        sized(&field.source, far)?;
        let pair = Pair::of(plan.stream_runs, || field.turn(&way))?;
        pair.show(&row, Some(target), None);
        peaks.push((row, pair.ours.peak_mib));
    }
    for (way, row, target) in small_rows.into_iter().filter(|(_, row, _)| plan.wants(row)) {
        let field = field(server.port, "small");
        many(&field.source, small)?;
        let pair = Pair::of(plan.stream_runs, || field.turn(&way))?;
        pair.show(&row, Some(target), None);
        peaks.push((row, pair.ours.peak_mib));
    }
    for (row, peak) in peaks {
        show_memory(&row, peak);
    }
    Ok(())
}

impl Field<'_> {
    /// Each copies to where nothing is, and what arrived is looked at.
    fn turn(&self, way: &Way) -> Fallible<(Cost, Cost)> {
        let name = |path: &Path| path.display().to_string();
        let remote = |path: &Path| format!("127.0.0.1:{}", path.display());
        let paths = match way {
            Way::Up => [name(&self.source), remote(&self.target)],
            Way::Down => [remote(&self.source), name(&self.target)],
        };
        let paths = [&*paths[0], &paths[1]];
        self.clear()?;
        let theirs = self.server.scp(self.port, &paths).run()?;
        self.look()?;
        self.clear()?;
        let ours = self.server.our_scp(self.port, &paths).run()?;
        self.look()?;
        self.clear()?;
        Ok((theirs, ours))
    }

    fn clear(&self) -> Fallible<()> {
        match fs::metadata(&self.target) {
            Ok(there) if there.is_dir() => Ok(fs::remove_dir_all(&self.target)?),
            Ok(_) => Ok(fs::remove_file(&self.target)?),
            Err(_) => Ok(()),
        }
    }

    fn look(&self) -> Fallible<()> {
        if content(&self.source)? == content(&self.target)? {
            return Ok(());
        }
        Err(format!("{} is not what {} is", self.target.display(), self.source.display()).into())
    }
}

/// How many files, and how many bytes.
fn content(path: &Path) -> Fallible<(usize, u64)> {
    let there = fs::metadata(path)?;
    if there.is_file() {
        return Ok((1, there.len()));
    }
    let mut all = (0, 0);
    for entry in fs::read_dir(path)? {
        all = (all.0 + 1, all.1 + entry?.metadata()?.len());
    }
    Ok(all)
}

/// Without a block: reading it costs memory copies only.
fn sized(path: &Path, mib: u64) -> Fallible<()> {
    Ok(fs::File::create(path)?.set_len(mib << 20)?)
}

fn many(dir: &Path, files: usize) -> Fallible<()> {
    fs::create_dir_all(dir)?;
    for n in 0..files {
        fs::write(dir.join(format!("file-{n:04}")), [b'x'; SMALL_BYTES])?;
    }
    Ok(())
}

/// Where files are only memory, if so many bytes of it are free.
fn in_memory(bytes: u64) -> PathBuf {
    let shared = Path::new("/dev/shm");
    let free = rustix::fs::statvfs(shared).map_or(0, |all| all.f_bavail.saturating_mul(all.f_frsize));
    if free >= bytes {
        return shared.to_owned();
    }
    println!("/dev/shm has not {} MiB free: the copies below are of a disk", bytes >> 20);
    std::env::temp_dir()
}
