//! The memory of this machine: the total, the share that this process may use, and the amount that it holds.
//!
//! Only Linux reports these. It has three limits: physical memory, the process's control groups (versions 1 and 2, with
//! every ancestor), and the limit of its address space (`ulimit -v`).

use std::{
    fs,
    path::{Path, PathBuf},
};

/// The memory that a process may use if the system does not say: 4 GiB.
const UNKNOWN: u64 = 4 << 30;

/// Returns the bytes of memory that this process may use.
pub fn memory() -> u64 {
    System::default().memory().unwrap_or(UNKNOWN)
}

/// Returns the default budget: three quarters of the memory that this process may use.
pub fn budget() -> u64 {
    memory() / 4 * 3
}

/// Returns the bytes of memory that this process holds now; 0 if the system does not say. Pages of files, such as the
/// program's code, are not counted: the system keeps them while it likes and reads them again.
pub fn held() -> u64 {
    System::default().held().unwrap_or(0)
}

/// The directory with the system's files.
struct System {
    root: PathBuf,
}

impl Default for System {
    fn default() -> Self {
        Self { root: "/".into() }
    }
}

impl System {
    fn read(&self, path: impl AsRef<Path>) -> Option<String> {
        fs::read_to_string(self.root.join(path)).ok()
    }

    fn memory(&self) -> Option<u64> {
        let physical = field(&self.read("proc/meminfo")?, "MemTotal:");
        physical.into_iter().chain(self.control_groups()).chain(self.address_space()).min()
    }

    fn held(&self) -> Option<u64> {
        match self.status("RssAnon:") {
            Some(own) => Some(own + self.status("RssShmem:").unwrap_or(0)),
            None => self.status("VmRSS:"),
        }
    }

    /// Returns a line of this process's status, in bytes.
    fn status(&self, name: &str) -> Option<u64> {
        field(&self.read("proc/self/status")?, name)
    }

    /// Returns the least limit of the process's groups and their ancestors.
    fn control_groups(&self) -> Option<u64> {
        let groups = self.read("proc/self/cgroup")?;
        let limits = groups.lines().filter_map(|line| {
            // Hierarchy, controllers, path; version 2 names no controllers.
            let mut fields = line.splitn(3, ':').skip(1);
            let (controllers, path) = (fields.next()?, fields.next()?);
            let (folder, file) = match controllers {
                "" => ("sys/fs/cgroup", "memory.max"),
                names if names.split(',').any(|name| name == "memory") => {
                    ("sys/fs/cgroup/memory", "memory.limit_in_bytes")
                }
                _ => return None,
            };
            let path = Path::new(path.trim_start_matches('/'));
            // A container may see its own group as the root, regardless of the path.
            let ancestors = path.ancestors().map(|group| Path::new(folder).join(group).join(file));
            ancestors.filter_map(|file| self.read(file)?.trim().parse().ok()).min()
        });
        limits.min()
    }

    fn address_space(&self) -> Option<u64> {
        let limits = self.read("proc/self/limits")?;
        let line = limits.lines().find_map(|line| line.strip_prefix("Max address space"))?;
        line.split_whitespace().next()?.parse().ok()
    }
}

/// Returns the value of a line such as `MemTotal:  1024 kB`, in bytes.
fn field(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kibibytes.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MEMORY: &str = "MemTotal:       16777216 kB\nMemFree:  1 kB\n";

    /// Returns what `ask` learns from a system with these files.
    fn answer(files: &[(&str, &str)], ask: impl Fn(&System) -> Option<u64>) -> Option<u64> {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        ask(&System { root: root.path().to_owned() })
    }

    fn memory(files: &[(&str, &str)]) -> Option<u64> {
        answer(files, System::memory)
    }

    #[test]
    fn pages_of_files_are_not_held() {
        let held = |status: &str| answer(&[("proc/self/status", status)], System::held);
        let rss = "VmRSS:\t    68264 kB\n";
        let parts = "RssAnon:\t    28508 kB\nRssFile:\t    39756 kB\nRssShmem:\t       4 kB\n";
        assert_eq!(held(&[rss, parts].concat()), Some(28_512 << 10));
        // Not every system has the parts.
        assert_eq!(held(rss), Some(68_264 << 10));
        assert_eq!(answer(&[], System::held), None);
    }

    #[test]
    fn the_least_of_all_limits_counts() {
        let meminfo = ("proc/meminfo", MEMORY);
        assert_eq!(memory(&[meminfo]), Some(16 << 30));
        assert_eq!(memory(&[]), None);

        let second = ("proc/self/cgroup", "0::/a.slice/b.scope\n");
        let max = |text| ("sys/fs/cgroup/a.slice/b.scope/memory.max", text);
        let above = |text| ("sys/fs/cgroup/a.slice/memory.max", text);
        assert_eq!(memory(&[meminfo, second, max("max\n")]), Some(16 << 30));
        assert_eq!(memory(&[meminfo, second, max("2147483648\n")]), Some(2 << 30));
        assert_eq!(memory(&[meminfo, second, max("max\n"), above("1073741824\n")]), Some(1 << 30));
        let namespace = [meminfo, ("proc/self/cgroup", "0::/\n")];
        let root = ("sys/fs/cgroup/memory.max", "3221225472\n");
        assert_eq!(memory(&[&namespace[..], &[root]].concat()), Some(3 << 30));

        let first = ("proc/self/cgroup", "12:pids:/x\n4:cpu,memory:/docker/0123\n0::/x\n");
        let limit = ("sys/fs/cgroup/memory/docker/0123/memory.limit_in_bytes", "536870912\n");
        let unlimited = ("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
        assert_eq!(memory(&[meminfo, first, limit, unlimited]), Some(512 << 20));
        // The container's path is not there, but its group is mounted as the root.
        let mounted = ("sys/fs/cgroup/memory/memory.limit_in_bytes", "268435456\n");
        assert_eq!(memory(&[meminfo, first, mounted]), Some(256 << 20));

        let limits = "Limit  Soft  Hard  Units\nMax address space         1000000000           unlimited            bytes\n";
        assert_eq!(memory(&[meminfo, ("proc/self/limits", limits)]), Some(1_000_000_000));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn this_machine_has_memory_and_this_process_some_of_it() {
        let before = held();
        let more = vec![1u8; 8 << 20];
        assert!(held() > before + (4 << 20) && super::memory() > held(), "{}", more.len());
    }
}
