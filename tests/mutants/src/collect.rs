//! Mutants of a source tree, by the operators of cargo-mutants: function bodies replaced by default values, binary operators
//! exchanged, unary operators and match arms deleted, match guards fixed.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use quote::ToTokens;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};

use crate::values;

/// Identity of a mutant that is independent of the line and, if possible, of the file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    pub area: &'static str,
    pub function: String,
    pub original: String,
    pub replacement: String,
    /// Number of equal mutants before this one in the function.
    pub occurrence: usize,
}

/// Place of a mutant in one tree.
#[derive(Clone, Debug)]
pub struct Site {
    pub file: PathBuf,
    /// Path below the area's directory.
    pub below: PathBuf,
    pub line: usize,
    pub edit: Edit,
}

#[derive(Clone, Debug)]
pub enum Edit {
    /// Returns the value at the start of a body.
    Body { at: usize, value: String },
    /// Evaluates the text instead of the expression.
    Expression { span: Range<usize>, text: String },
    /// Never takes the arm whose pattern ends here.
    Arm { at: usize },
}

/// Areas, and their directory in this layout of the repository or an older one.
pub const AREAS: [(&str, [&str; 2]); 4] = [
    (
        "core, switch",
        ["crates/core/src/switch", "core/src/switch"],
    ),
    (
        "core, control plane",
        ["crates/core/src/control", "core/src/control"],
    ),
    (
        "core, wire formats",
        ["crates/core/src/wire", "core/src/wire"],
    ),
    (
        "dataplane, worker",
        [
            "crates/dataplane/src/worker",
            "switchd/src/dataplane/worker",
        ],
    ),
];

/// Returns all mutants of the areas in the tree.
pub fn collect(tree: &Path) -> Result<Vec<(Key, Site)>> {
    let mut found = Vec::new();
    for (area, candidates) in AREAS {
        let directory = candidates
            .into_iter()
            .find(|directory| tree.join(directory).is_dir())
            .with_context(|| format!("{}: no directory for {area}", tree.display()))?;
        let mut files = Vec::new();
        rust_files(&tree.join(directory), &mut files)?;
        // The areas' own module may be a file beside the directory.
        let beside = tree.join(directory).with_extension("rs");
        files.extend(beside.is_file().then_some(beside));
        files.sort();
        let mut parsed = Vec::new();
        let mut of_tests = BTreeSet::new();
        for file in files {
            let text = std::fs::read_to_string(&file)?;
            let syntax = syn::parse_file(&text).with_context(|| file.display().to_string())?;
            of_tests.extend(modules_of_tests(&file, &syntax));
            parsed.push((file, text, syntax));
        }
        for (file, text, syntax) in parsed {
            if of_tests
                .iter()
                .any(|path| file.starts_with(path) || file == path.with_extension("rs"))
            {
                continue;
            }
            let mut collector = Collector {
                area,
                text: &text,
                scope: Vec::new(),
                function: None,
                file: file.strip_prefix(tree)?.to_owned(),
                below: file
                    .strip_prefix(tree.join(directory))
                    .unwrap_or(&file)
                    .to_owned(),
                occurrences: BTreeMap::new(),
                found: &mut found,
            };
            collector.visit_file(&syntax);
        }
    }
    Ok(found)
}

fn rust_files(directory: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    for entry in std::fs::read_dir(directory)? {
        let path = entry?.path();
        if path.is_dir() {
            rust_files(&path, files)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    Ok(())
}

/// Returns the paths, without extension, of the file's modules that only tests contain.
fn modules_of_tests(file: &Path, syntax: &syn::File) -> Vec<PathBuf> {
    let directory = match file.file_stem().and_then(|stem| stem.to_str()) {
        Some("mod" | "lib") | None => file.with_file_name(""),
        Some(_) => file.with_extension(""),
    };
    let modules = syntax.items.iter().filter_map(|item| match item {
        syn::Item::Mod(module) if module.content.is_none() && for_tests(&module.attrs) => {
            let stated = module
                .attrs
                .iter()
                .find_map(|attribute| match &attribute.meta {
                    syn::Meta::NameValue(pair) if pair.path.is_ident("path") => Some(&pair.value),
                    _ => None,
                });
            Some(match stated {
                Some(path) => file
                    .with_file_name(tokens(path).trim_matches('"'))
                    .with_extension(""),
                None => directory.join(module.ident.to_string()),
            })
        }
        _ => None,
    });
    modules.collect()
}

/// Returns whether the attributes restrict an item to tests, or to the explorer's feature.
fn for_tests(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let text = attribute.to_token_stream().to_string();
        attribute.path().is_ident("test")
            || attribute.path().is_ident("cfg") && (text.contains("test") || text.contains("loom"))
    })
}

struct Collector<'a> {
    area: &'static str,
    text: &'a str,
    scope: Vec<String>,
    function: Option<String>,
    file: PathBuf,
    below: PathBuf,
    occurrences: BTreeMap<Key, usize>,
    found: &'a mut Vec<(Key, Site)>,
}

impl Collector<'_> {
    fn add(&mut self, place: proc_macro2::Span, original: String, replacement: &str, edit: Edit) {
        let Some(function) = self.function.clone() else {
            return;
        };
        let mut key = Key {
            area: self.area,
            function,
            original,
            replacement: replacement.to_owned(),
            occurrence: 0,
        };
        let count = self.occurrences.entry(key.clone()).or_default();
        key.occurrence = *count;
        *count += 1;
        let site = Site {
            file: self.file.clone(),
            below: self.below.clone(),
            line: place.start().line,
            edit,
        };
        self.found.push((key, site));
    }

    fn function(
        &mut self,
        attributes: &[syn::Attribute],
        signature: &syn::Signature,
        block: &syn::Block,
    ) {
        if for_tests(attributes) || signature.constness.is_some() || signature.unsafety.is_some() {
            return;
        }
        let mut name = self.scope.join("::");
        name = format!("{name}::{}", signature.ident);
        let before = self.function.replace(name);
        let body = block
            .stmts
            .iter()
            .map(|statement| statement.to_token_stream().to_string())
            .collect::<String>();
        let output = signature.output.to_token_stream().to_string();
        let at = block.brace_token.span.open().byte_range().end;
        for value in values::of(&signature.output) {
            let same = |text: &str| text.replace(' ', "") == value.replace(' ', "");
            let is_empty = value == "()" && body.is_empty();
            if !same(&body) && !is_empty {
                let edit = Edit::Body {
                    at,
                    value: value.clone(),
                };
                self.add(
                    signature.ident.span(),
                    format!("body {output}"),
                    &value,
                    edit,
                );
            }
        }
        visit::visit_block(self, block);
        self.function = before;
    }

    fn source(&self, node: &impl Spanned) -> &str {
        &self.text[node.span().byte_range()]
    }
}

fn tokens(node: &impl ToTokens) -> String {
    node.to_token_stream().to_string()
}

impl<'ast> Visit<'ast> for Collector<'_> {
    fn visit_item_mod(&mut self, module: &'ast syn::ItemMod) {
        if !for_tests(&module.attrs) {
            visit::visit_item_mod(self, module);
        }
    }

    fn visit_item_impl(&mut self, block: &'ast syn::ItemImpl) {
        let of_trait = block.trait_.as_ref().map(|(_, path, _)| tokens(path));
        let generated = of_trait
            .as_deref()
            .is_some_and(|path| path.ends_with("Debug") || path == "Default");
        if for_tests(&block.attrs) || generated {
            return;
        }
        let name = tokens(&block.self_ty);
        self.scope
            .push(of_trait.map_or(name.clone(), |path| format!("<{name} as {path}>")));
        visit::visit_item_impl(self, block);
        self.scope.pop();
    }

    fn visit_item_trait(&mut self, item: &'ast syn::ItemTrait) {
        self.scope.push(item.ident.to_string());
        visit::visit_item_trait(self, item);
        self.scope.pop();
    }

    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        self.function(&item.attrs, &item.sig, &item.block);
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        self.function(&item.attrs, &item.sig, &item.block);
    }

    fn visit_trait_item_fn(&mut self, item: &'ast syn::TraitItemFn) {
        if let Some(block) = &item.default {
            self.function(&item.attrs, &item.sig, block);
        }
    }

    fn visit_expr_binary(&mut self, binary: &'ast syn::ExprBinary) {
        let holds_let = |side: &syn::Expr| matches!(side, syn::Expr::Let(_));
        if !holds_let(&binary.left) && !holds_let(&binary.right) {
            let operator = tokens(&binary.op);
            for &other in exchanged(&operator) {
                let (left, right) = (self.source(&binary.left), self.source(&binary.right));
                let text = format!("{left} {other} {right}");
                let edit = Edit::Expression {
                    span: binary.span().byte_range(),
                    text,
                };
                self.add(
                    binary.op.span(),
                    tokens(binary),
                    &format!("{operator} to {other}"),
                    edit,
                );
            }
        }
        visit::visit_expr_binary(self, binary);
    }

    fn visit_expr_unary(&mut self, unary: &'ast syn::ExprUnary) {
        if matches!(unary.op, syn::UnOp::Not(_) | syn::UnOp::Neg(_)) {
            let text = self.source(&unary.expr).to_owned();
            let edit = Edit::Expression {
                span: unary.span().byte_range(),
                text,
            };
            self.add(
                unary.op.span(),
                tokens(unary),
                &format!("without {}", tokens(&unary.op)),
                edit,
            );
        }
        visit::visit_expr_unary(self, unary);
    }

    fn visit_expr_match(&mut self, item: &'ast syn::ExprMatch) {
        let catches_all =
            |arm: &syn::Arm| matches!(arm.pat, syn::Pat::Wild(_)) && arm.guard.is_none();
        let deletable = item.arms.iter().any(catches_all);
        let subject = tokens(&item.expr);
        for arm in &item.arms {
            let original = format!("match {subject}: {}", tokens(&arm.pat));
            match &arm.guard {
                Some((_, guard)) => {
                    for value in ["true", "false"] {
                        let edit = Edit::Expression {
                            span: guard.span().byte_range(),
                            text: value.to_owned(),
                        };
                        let original = format!("{original} if {}", tokens(guard));
                        self.add(guard.span(), original, &format!("guard {value}"), edit);
                    }
                }
                None if deletable && !catches_all(arm) => {
                    let edit = Edit::Arm {
                        at: arm.pat.span().byte_range().end,
                    };
                    self.add(arm.pat.span(), original, "without the arm", edit);
                }
                None => {}
            }
        }
        visit::visit_expr_match(self, item);
    }

    // Constants are evaluated by the compiler, before a mutant is chosen.
    fn visit_item_const(&mut self, _: &'ast syn::ItemConst) {}
    fn visit_impl_item_const(&mut self, _: &'ast syn::ImplItemConst) {}
    fn visit_item_static(&mut self, _: &'ast syn::ItemStatic) {}
    fn visit_item_enum(&mut self, _: &'ast syn::ItemEnum) {}
    fn visit_expr_const(&mut self, _: &'ast syn::ExprConst) {}
    fn visit_type(&mut self, _: &'ast syn::Type) {}
    fn visit_pat(&mut self, _: &'ast syn::Pat) {}
    fn visit_generic_argument(&mut self, _: &'ast syn::GenericArgument) {}
    fn visit_attribute(&mut self, _: &'ast syn::Attribute) {}
    fn visit_expr_repeat(&mut self, repeat: &'ast syn::ExprRepeat) {
        self.visit_expr(&repeat.expr);
    }
}

/// Returns the operators that replace `operator`, as in cargo-mutants.
fn exchanged(operator: &str) -> &'static [&'static str] {
    match operator {
        "==" => &["!="],
        "!=" => &["=="],
        "&&" => &["||"],
        "||" => &["&&"],
        "<" => &["==", ">", "<="],
        ">" => &["==", "<", ">="],
        "<=" => &[">"],
        ">=" => &["<"],
        "+" => &["-", "*"],
        "-" => &["+", "/"],
        "*" => &["+", "/"],
        "/" => &["%", "*"],
        "%" => &["/", "+"],
        "<<" => &[">>"],
        ">>" => &["<<"],
        "&" => &["|", "^"],
        "|" => &["&", "^"],
        "^" => &["|", "&"],
        "+=" => &["-=", "*="],
        "-=" => &["+=", "/="],
        "*=" => &["+=", "/="],
        "/=" => &["%=", "*="],
        "%=" => &["/=", "+="],
        "&=" => &["|="],
        "|=" => &["&=", "^="],
        "^=" => &["|=", "&="],
        "<<=" => &[">>="],
        ">>=" => &["<<="],
        _ => &[],
    }
}
