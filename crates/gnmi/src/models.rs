//! The supported YANG modules, and the module of each node.

use crate::path::Elem;
use crate::refusal::Refusal;
use crate::wire;

/// A YANG module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Module {
    /// Its name.
    pub name: &'static str,
    /// Publisher.
    pub organization: &'static str,
    /// The supported version.
    pub version: &'static str,
    /// The root node of its nodes.
    pub root: &'static str,
}

impl Module {
    const fn openconfig(name: &'static str, version: &'static str, root: &'static str) -> Self {
        Self {
            name,
            organization: "OpenConfig working group",
            version,
            root,
        }
    }
}

/// Interfaces.
pub const INTERFACES: Module = Module::openconfig("openconfig-interfaces", "3.5.0", "interfaces");

/// Ethernet's additions to interfaces.
pub const ETHERNET: Module = Module::openconfig("openconfig-if-ethernet", "1.1.0", "interfaces");

/// Queues.
pub const QOS: Module = Module::openconfig("openconfig-qos", "0.7.0", "qos");

/// Neighbours.
pub const LLDP: Module = Module::openconfig("openconfig-lldp", "1.1.0", "lldp");

/// The switch as a whole.
pub const SYSTEM: Module = Module::openconfig("openconfig-system", "3.1.0", "system");

/// Its parts.
pub const PLATFORM: Module = Module::openconfig("openconfig-platform", "0.32.0", "components");

/// Leaves that OpenConfig lacks: pauses, Levels, suspicions. It is in `packaging/yang`.
pub const WEIR: Module = Module {
    name: "weir-switch",
    organization: "Weir",
    version: "1.0.0",
    root: "weir",
};

/// All modules.
pub const MODULES: [Module; 7] = [INTERFACES, ETHERNET, QOS, LLDP, SYSTEM, PLATFORM, WEIR];

/// The common origin of OpenConfig's modules.
pub const ORIGIN_OPENCONFIG: &str = "openconfig";
/// The origin of [`WEIR`].
pub const ORIGIN_WEIR: &str = "weir";

/// The modules, in the form of Capabilities.
pub fn to_wire() -> Vec<wire::ModelData> {
    let model = |module: &Module| wire::ModelData {
        name: module.name.to_owned(),
        organization: module.organization.to_owned(),
        version: module.version.to_owned(),
    };
    MODULES.iter().map(model).collect()
}

/// The module of the node at this depth, up to the one after the last of `elems`.
pub fn module_at(elems: &[Elem], depth: usize) -> &'static str {
    let name = |depth: usize| elems.get(depth).map_or("", |elem| elem.name);
    if name(0) == ETHERNET.root && depth >= 2 && name(2) == "ethernet" {
        return ETHERNET.name;
    }
    let module = MODULES.into_iter().find(|module| module.root == name(0));
    module.unwrap_or(WEIR).name
}

/// The root nodes selected by an origin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Roots(Vec<&'static str>);

impl Roots {
    /// Returns true if `root` is among them.
    pub fn has(&self, root: &str) -> bool {
        self.0.contains(&root)
    }
}

/// Returns the roots of `origin`; all for an empty one. Clients also use a module's name as the origin.
///
/// # Errors
///
/// There is no such tree.
pub fn roots(origin: &str) -> Result<Roots, Refusal> {
    let is_meant = |module: &&Module| match origin {
        "" => true,
        ORIGIN_OPENCONFIG => **module != WEIR,
        ORIGIN_WEIR => **module == WEIR,
        name => module.name == name,
    };
    let modules = MODULES.iter().filter(is_meant);
    let roots: Vec<_> = modules.map(|module| module.root).collect();
    if roots.is_empty() {
        return Err(Refusal::bad_request(format!(
            "no origin `{}` here: leave it out, or use `{ORIGIN_OPENCONFIG}`, `{ORIGIN_WEIR}` or the name of a module that \
             Capabilities lists",
            origin.escape_debug()
        )));
    }
    Ok(Roots(roots))
}

/// Refuses unsupported modules.
///
/// # Errors
///
/// The first of them.
pub fn check_used(models: &[wire::ModelData]) -> Result<(), Refusal> {
    let is_served =
        |model: &&wire::ModelData| MODULES.iter().any(|module| module.name == model.name);
    match models.iter().find(|model| !is_served(model)) {
        None => Ok(()),
        Some(model) => {
            let name: String = model.name.chars().take(64).collect();
            Err(Refusal::unimplemented(format!(
                "no module `{}`; Capabilities lists the modules",
                name.escape_debug()
            )))
        }
    }
}
