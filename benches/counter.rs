//! The processor's counters, through Linux' perf_event_open. Virtual machines and strict kernels have none; then there
//! is no counter.

#[cfg(not(target_os = "linux"))]
pub use absent::Counter;
#[cfg(target_os = "linux")]
pub use linux::Counter;

/// What is counted, by its number in `PERF_TYPE_HARDWARE`.
#[derive(Clone, Copy)]
#[repr(u64)]
pub enum Event {
    Cycles = 0,
    Instructions = 1,
}

#[cfg(target_os = "linux")]
mod linux {
    use std::fs::File;
    use std::io::Read;
    use std::os::fd::{AsRawFd, FromRawFd};

    /// The first version of `perf_event_attr`, which every kernel takes.
    #[repr(C)]
    #[derive(Default)]
    struct Attributes {
        kind: u32,
        size: u32,
        config: u64,
        period: u64,
        sample_type: u64,
        read_format: u64,
        flags: u64,
        wakeup: u32,
        breakpoint: u32,
        address: u64,
    }

    const DISABLED: u64 = 1;
    const EXCLUDE_KERNEL: u64 = 1 << 5;
    const EXCLUDE_HYPERVISOR: u64 = 1 << 6;
    const ENABLE: libc::c_ulong = 0x2400;
    const DISABLE: libc::c_ulong = 0x2401;

    /// Counts one kind of event of the thread that opened it, in user space.
    pub struct Counter(File);

    impl Counter {
        /// `None` where the kernel or the processor has no such counter.
        pub fn open(event: super::Event) -> Option<Counter> {
            let attributes = Attributes {
                size: size_of::<Attributes>() as u32,
                config: event as u64,
                flags: DISABLED | EXCLUDE_KERNEL | EXCLUDE_HYPERVISOR,
                ..Attributes::default()
            };
            // SAFETY: the kernel reads `size` bytes of the attributes; this thread, any processor, no group, close on
            // exec.
            let fd = unsafe { libc::syscall(libc::SYS_perf_event_open, &attributes, 0, -1, -1, 8) };
            // SAFETY: a descriptor that nobody else has.
            (fd >= 0).then(|| Counter(unsafe { File::from_raw_fd(fd as i32) }))
        }

        /// Events during `work`.
        pub fn count(&mut self, work: impl FnOnce()) -> Option<u64> {
            let before = self.read()?;
            self.control(ENABLE);
            work();
            self.control(DISABLE);
            Some(self.read()? - before)
        }

        fn control(&self, request: libc::c_ulong) {
            // SAFETY: these requests take no memory.
            unsafe { libc::ioctl(self.0.as_raw_fd(), request as _, 0) };
        }

        fn read(&mut self) -> Option<u64> {
            let mut count = [0; 8];
            self.0.read_exact(&mut count).ok()?;
            Some(u64::from_ne_bytes(count))
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod absent {
    /// There is none.
    pub struct Counter;

    impl Counter {
        pub fn open(_event: super::Event) -> Option<Counter> {
            None
        }

        pub fn count(&mut self, work: impl FnOnce()) -> Option<u64> {
            work();
            None
        }
    }
}
