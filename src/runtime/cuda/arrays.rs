//! The arrays of a call, as kernels get them: one alone, or many in one launch, where each has work slots in proportion
//! to its size and blocks take the slots.
//!
//! The host's description of a batch travels in the arguments of small launches that write it to a table in the
//! workspace: nothing of the host has to outlive the call, and nothing is copied from memory that a driver would have
//! to wait for.

use super::driver::{DeviceScratch, Session};
use super::launch::{Batch, Item, LIST_WORDS, LISTED, LISTED_EVEN, ListArgs, Outcome, Slot};
use super::module::Kernel;
use crate::container::constants::ALIGN;
use crate::error::{Error, Kind, Result, fail};
use crate::exec::WORKSPACE_BYTES;
use crate::host::memory::reserve;

const _: () = assert!(size_of::<Slot>() + size_of::<Outcome>() <= WORKSPACE_BYTES);

/// Bytes of GPU memory, aligned to 16, that a call for so many arrays needs besides its data.
pub fn workspace_bytes(arrays: usize) -> usize {
    arrays.saturating_mul(size_of::<Item>() + size_of::<Slot>()).saturating_add(ALIGN)
}

/// The arrays that a call compresses, or the streams that it restores: what `items` point to is memory of the
/// session's GPU that stays valid until the stream has passed; so are a place for the outcome of each, and the
/// workspace.
pub struct Arrays<'a> {
    /// Where the call runs.
    pub session: &'a Session,
    items: &'a [Item],
    is_batch: bool,
    workspace: *mut u8,
    outcomes: *mut Outcome,
}

impl<'a> Arrays<'a> {
    /// One array, with a workspace of [`WORKSPACE_BYTES`]. The outcome lies in it where no place for it is given.
    pub fn alone(session: &'a Session, item: &'a Item, workspace: *mut u8, outcome: Option<*mut Outcome>) -> Self {
        let outcomes = outcome.unwrap_or(outcome_in(workspace));
        Arrays { session, items: std::slice::from_ref(item), is_batch: false, workspace, outcomes }
    }

    /// A batch, with a workspace of as many bytes as [`workspace_bytes`] says.
    pub fn batch(session: &'a Session, items: &'a [Item], workspace: *mut u8, outcomes: *mut Outcome) -> Self {
        Arrays { session, items, is_batch: true, workspace, outcomes }
    }

    /// Each of them.
    pub fn items(&self) -> &'a [Item] {
        self.items
    }

    /// Whether this is a batch, whatever the number of its arrays.
    pub fn is_batch(&self) -> bool {
        self.is_batch
    }

    /// Enqueues what tells kernels of the arrays; the slots are not zeroed. Each array has as many work slots as
    /// `chunks` says or, where a `worker` is named, as many of those as this looks at at once. The kernel `list` writes
    /// the table of a batch.
    ///
    /// # Safety
    /// Items, workspace and places for outcomes are what the constructors ask for, and `list` is the kernel that takes
    /// [`ListArgs`].
    pub unsafe fn tell(&self, list: Kernel, worker: Option<Kernel>, chunks: impl Fn(&Item) -> u64) -> Result<Batch> {
        let (items, outcomes) = (self.items, self.outcomes);
        if !self.is_batch {
            let (only, chunks) = (items[0], chunks(&items[0]));
            let work_slots = worker.map_or(chunks, |worker| worker.work_slots_alone(chunks));
            let slots = self.workspace.cast();
            return Ok(Batch { only, slots, outcomes, work_slots, count: 1, ..Batch::ZERO });
        }
        let Some(count) = u32::try_from(items.len()).ok().filter(|n| *n < 1 << 24) else {
            return fail!(InvalidArgument, "{} arrays in a batch; fewer than {} are possible", items.len(), 1 << 24);
        };
        let all = items.iter().map(&chunks).sum();
        let (mut placed, mut work_slots) = (Vec::new(), 0);
        reserve(&mut placed, items.len())?;
        for item in items {
            placed.push(item.behind(work_slots));
            let chunks = chunks(item);
            work_slots += worker.map_or(chunks, |worker| worker.work_slots(chunks, all));
        }
        let table = self.workspace.cast::<Item>();
        let mut at = 0;
        while at < placed.len() {
            let args = ListArgs::of(&placed[at..], table.wrapping_add(at));
            // SAFETY: the workspace holds the table.
            unsafe { list.launch(self.session, 1, &args) }?;
            at += args.count as usize;
        }
        let slots = table.wrapping_add(items.len()).cast();
        Ok(Batch { only: items[0], items: table, slots, outcomes, work_slots, count, ..Batch::ZERO })
    }
}

impl ListArgs {
    /// As many of these items, from the first on, as travel in one launch, for this place of the table.
    fn of(items: &[Item], table: *mut Item) -> ListArgs {
        let first = items[0];
        let mut args = ListArgs { table, item: first, ..ListArgs::ZERO };
        let even = even(items);
        if even > LISTED || even == items.len() {
            if let Some(second) = items.get(1) {
                [args.src_step, args.dst_step, args.slots] = second.steps_from(&first);
            }
            (args.even, args.count) = (1, even as u64);
            for (i, item) in items[..even].iter().enumerate() {
                args.words[i / 2] |= item.bytes << (i % 2 * 32);
            }
            return args;
        }
        args.count = items.len().min(LISTED) as u64;
        for (words, item) in args.words.chunks_exact_mut(LIST_WORDS / LISTED).zip(items) {
            words.copy_from_slice(&[item.src as u64, item.dst as u64, item.count, item.bytes, item.first]);
        }
        args
    }
}

/// How many items, from the first on, are at even distances and differ in nothing else but their bytes.
fn even(items: &[Item]) -> usize {
    let is_like_the_first = |item: &&Item| item.count == items[0].count && item.bytes < 1 << 32;
    let like = items.iter().take(LISTED_EVEN).take_while(is_like_the_first).count();
    let mut pairs = items[..like].windows(2).map(|pair| pair[1].steps_from(&pair[0]));
    let Some(steps) = pairs.next() else { return like };
    2 + pairs.take_while(|other| *other == steps).count()
}

impl Item {
    /// How far `src`, `dst` and the work slots are from those of the item before it.
    fn steps_from(&self, before: &Item) -> [u64; 3] {
        [
            (self.src as u64).wrapping_sub(before.src as u64),
            (self.dst as u64).wrapping_sub(before.dst as u64),
            self.first - before.first,
        ]
    }
}

impl Batch {
    /// Zeroes the slots in stream order.
    ///
    /// # Safety
    /// The batch comes from [`Arrays::tell`], and its workspace is there until the stream has passed.
    pub unsafe fn clear_slots(&self, session: &Session) -> Result<()> {
        // SAFETY: the contract of this function.
        unsafe { session.clear(self.slots.cast(), self.count as usize * size_of::<Slot>()) }
    }
}

/// Where a synchronous call has its outcome: behind the slot.
fn outcome_in(workspace: *mut u8) -> *mut Outcome {
    workspace.wrapping_add(size_of::<Slot>()).cast()
}

impl Outcome {
    /// That of a synchronous call for one array, after everything before it on the stream.
    pub fn wait(session: &Session, workspace: &mut DeviceScratch) -> Result<Outcome> {
        let mut outcome = Outcome::ZERO;
        let at = outcome_in(workspace.start());
        // SAFETY: the workspace is alive, the local too until the wait is over.
        unsafe { session.copy((&raw mut outcome).cast(), at.cast(), size_of::<Outcome>()) }?;
        session.wait()?;
        workspace.done();
        Ok(outcome)
    }

    /// The error that it tells of, if it does.
    pub fn check(&self) -> Result<()> {
        if self.status == 0 {
            return Ok(());
        }
        let kind = Kind::ALL.into_iter().find(|k| k.code() == self.status as i32).unwrap_or(Kind::Internal);
        let message = match kind {
            Kind::BufferTooSmall => "the stream does not fit the destination",
            Kind::Corrupt => "a checksum or a check of the stream's structure failed on the GPU",
            Kind::Truncated => "the stream ends before its stated length",
            Kind::UnsupportedFormat => "the stream's version, codec or flags are not known to this library",
            Kind::NotSleek => "the first bytes are not those of a SLEEK stream",
            Kind::OutOfRange => "the array does not have these elements",
            _ => "the GPU reported an unknown state",
        };
        Err(Error::new(kind, message))
    }
}
