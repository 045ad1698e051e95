(* The invariant: what is true in every reachable state of Model.v. *)

From Pawl Require Import Base Views Model.

(* ---- What an event tells ----------------------------------------------------------------------------- *)

(* A master accepted a script that names a view. *)
Definition visit_of (e : event) : option (member * view) :=
  match e with
  | Answered _ m V _ _ => Some (m, V)
  | Confirmed _ m V _ _ => Some (m, V)
  | Counted _ m V _ => Some (m, V)
  | Broke _ m V _ => Some (m, V)
  | Joined m V => Some (m, V)
  | Recorded j L => Some (j, L)
  | _ => None
  end.

(* What one master is asked for, and under which view: one lock of an attempt, the values of a round, or a break. *)
Inductive demand :=
| Lock_of (a : attempt) (r : resource) (V : view)
| Values_of (c : round) (V : view)
| Above (b : break) (V : view).

Definition about (d : demand) : resource :=
  match d with Lock_of _ r _ => r | Values_of c _ => counts c | Above b _ => broken b end.

Definition view_of (d : demand) : view :=
  match d with Lock_of _ _ V | Values_of _ V | Above _ V => V end.

Definition size_of (d : demand) : nat :=
  match d with Lock_of _ _ _ => 1 | Values_of c _ => values c | Above _ _ => 0 end.

Definition start_of (d : demand) : event :=
  match d with Lock_of a _ _ => Started a | Values_of c _ => Counting c | Above b _ => Breaking b end.

Definition is_lock_of (d : demand) (r : resource) : Prop := exists a V, d = Lock_of a r V.

(* A master answered a demand, and with which number. *)
Inductive acts : event -> member -> demand -> nat -> origin -> Prop :=
| by_answer : forall a m V x o r, In r (what a) -> acts (Answered a m V x o) m (Lock_of a r V) (x r) (o r)
| by_confirm : forall a m V x o r, In r (what a) -> acts (Confirmed a m V x o) m (Lock_of a r V) (x r) (o r)
| by_count : forall c m V n, acts (Counted c m V n) m (Values_of c V) n taken
| by_break : forall b m V n, acts (Broke b m V n) m (Above b V) n joined.

Definition visit (h : list event) (t : time) (m : member) (V : view) : Prop :=
  exists e, happened h t e /\ visit_of e = Some (m, V).

Definition act (h : list event) (t : time) (m : member) (d : demand) (n : nat) (o : origin) : Prop :=
  exists e, happened h t e /\ acts e m d n o.

Definition admission (h : list event) (t : time) (m : member) (L : view) (c : slot -> nat) : Prop :=
  happened h t (Activated m L c).

Lemma act_visits : forall e m d n o, acts e m d n o -> visit_of e = Some (m, view_of d).
Proof. intros e m d n o H. now destruct H. Qed.

Lemma act_is_a_visit : forall h t m d n o, act h t m d n o -> visit h t m (view_of d).
Proof. intros h t m d n o (e & H & A). exists e. split; [assumption | eapply act_visits; eassumption]. Qed.

Lemma visit_now : forall e h t m V, visit (e :: h) t m V ->
  visit h t m V \/ (visit_of e = Some (m, V) /\ t = length h).
Proof.
  intros e h t m V (x & [[<- ->] | Hx] & Ix); [right; now split | left; now exists x].
Qed.

Lemma act_now : forall e h t m d n o, act (e :: h) t m d n o ->
  act h t m d n o \/ (acts e m d n o /\ t = length h).
Proof.
  intros e h t m d n o (x & [[<- ->] | Hx] & Ix); [right; now split | left; now exists x].
Qed.

Lemma admission_now : forall e h t m L c, admission (e :: h) t m L c ->
  admission h t m L c \/ (e = Activated m L c /\ t = length h).
Proof. intros e h t m L c [[<- ->] | H]; [right; now split | now left]. Qed.

Lemma visit_stays : forall e h t m V, visit h t m V -> visit (e :: h) t m V.
Proof. intros e h t m V (x & H & I). exists x. split; [now right | assumption]. Qed.

Lemma act_stays : forall e h t m d n o, act h t m d n o -> act (e :: h) t m d n o.
Proof. intros e h t m d n o (x & H & I). exists x. split; [now right | assumption]. Qed.

Lemma admission_stays : forall e h t m L c, admission h t m L c -> admission (e :: h) t m L c.
Proof. intros. now right. Qed.

Lemma visit_past : forall h t m V, visit h t m V -> t < length h.
Proof. intros h t m V (x & H & _). eapply happened_past; eassumption. Qed.

Lemma act_past : forall h t m d n o, act h t m d n o -> t < length h.
Proof. intros h t m d n o (x & H & _). eapply happened_past; eassumption. Qed.

Lemma admission_past : forall h t m L c, admission h t m L c -> t < length h.
Proof. intros. eapply happened_past; eassumption. Qed.

(* Incarnation I was given to machine k of member m. The first one, 0, is machine 0's. *)
Definition given (h : list event) (m : member) (k : nat) (I : incarnation) : Prop :=
  (I = 0 /\ k = 0) \/ In (Marked m k I) h.

Lemma given_stays : forall e h m k I, given h m k I -> given (e :: h) m k I.
Proof. intros e h m k I [H | H]; [now left | right; now right]. Qed.

(* ---- A lock that was not there yet -------------------------------------------------------------------- *)

(* At t, lock id i did not have r at m: another lock id did, or no attempt under i had started. *)
Definition lock_not_there (h : list event) (t : time) (m : member) (r : resource) (i : lockid) : Prop :=
  (exists a V n o, act h t m (Lock_of a r V) n o /\ holder a <> i) \/
  (forall start c, happened h start (Started c) -> holder c = i -> t <= start).

(* A round of a counter never was there; a break only has to be above. *)
Definition not_there (h : list event) (t : time) (m : member) (d : demand) : Prop :=
  match d with
  | Lock_of a r _ => lock_not_there h t m r (holder a)
  | Values_of c _ => forall V n, ~ happened h t (Counted c m V n)
  | Above _ _ => True
  end.

Lemma lock_not_there_before : forall e h t m r i, t < length h ->
  lock_not_there (e :: h) t m r i -> lock_not_there h t m r i.
Proof.
  intros e h t m r i Ht [(a & V & n & o & A & D) | H].
  - left. apply act_now in A. destruct A as [A | [_ ->]]; [now exists a, V, n, o | lia].
  - right. intros start c Hs E. apply (H start c); [now right | assumption].
Qed.

Lemma not_there_before : forall e h t m d, t < length h -> not_there (e :: h) t m d -> not_there h t m d.
Proof.
  intros e h t m [a r V | c V | b V] Ht H; simpl in *.
  - eapply lock_not_there_before; eassumption.
  - intros W n X. apply (H W n). now right.
  - exact H.
Qed.

(* A lock id has started. *)
Definition known (h : list event) (i : lockid) : Prop := exists c, In (Started c) h /\ holder c = i.

Lemma known_stays : forall e h i, known h i -> known (e :: h) i.
Proof. intros e h i (c & H & E). exists c. split; [now right | assumption]. Qed.

(* An event that gives a lock only to lock id i tells of no moment when i did not have it. *)
Lemma there_now : forall e h m r i, known h i ->
  (forall a V n o, acts e m (Lock_of a r V) n o -> holder a = i) -> ~ lock_not_there (e :: h) (length h) m r i.
Proof.
  intros e h m r i (c & Hc & Ec) He [(a & V & n & o & A & D) | H].
  - apply act_now in A. destruct A as [A | [A _]]; [apply act_past in A; lia |]. apply D. eapply He; eassumption.
  - destruct (in_happened _ _ _ Hc) as (t & Ht & Hh). specialize (H t c). simpl in H. specialize (H (or_intror Hh) Ec). lia.
Qed.

Section Kept.
  Variable slot_of : resource -> slot.
  Variable slots : list slot.
  Variable quorum : list member -> Prop.
  Hypothesis slots_are_all : forall r, In (slot_of r) slots.

  Definition slot_at (d : demand) : slot := slot_of (about d).

  (* ---- What is true of the history ------------------------------------------------------------------- *)

  Definition no_incarnation_twice (h : list event) : Prop :=
    forall m k k' I, In (Marked m k I) h -> In (Marked m k' I) h -> I <> 0 /\ k = k'.

  (* A machine that did something had been given its incarnation. *)
  Definition all_were_given (h : list event) : Prop :=
    (forall t m V, visit h t m V -> exists k, given h m k (V m)) /\
    (forall t m L c, admission h t m L c -> exists k, given h m k (L m)) /\
    (forall m I j L p, In (Installed m I j L p) h -> exists k, given h m k I).

  Definition visits_grow (h : list event) : Prop :=
    forall t1 t2 m V1 V2, visit h t1 m V1 -> visit h t2 m V2 -> V1 m = V2 m -> t1 <= t2 -> below V1 V2.

  Definition admitted_before (h : list event) : Prop :=
    forall t m V, visit h t m V -> V m = 0 \/
      exists t' L c, t' < t /\ admission h t' m L c /\ L m = V m /\ below L V.

  (* The number n of a demand d fits an earlier number n' of d'. *)
  Definition grows (h : list event) (t' : time) (m : member) (d' d : demand) (n' n : nat) (o : origin) : Prop :=
    ((exists r, is_lock_of d' r /\ is_lock_of d r) -> n' <= n) /\
    (not_there h t' m d -> n' <= n /\ (o = taken -> n' + size_of d <= n)).

  Definition numbers_grow (h : list event) : Prop :=
    forall t1 t2 m d1 d2 n1 n2 o1 o2, act h t1 m d1 n1 o1 -> act h t2 m d2 n2 o2 ->
      slot_at d1 = slot_at d2 -> view_of d1 m = view_of d2 m -> t1 <= t2 -> grows h t1 m d1 d2 n1 n2 o2.

  Definition numbers_above (h : list event) : Prop :=
    forall t t' m L c d n o, act h t m d n o -> admission h t' m L c -> L m = view_of d m ->
      c (slot_at d) <= n /\ (o = taken -> c (slot_at d) + size_of d <= n).

  (* The number n covers what j had answered of a slot, and imported of it, before t, as the incarnation that the view L
     names. *)
  Definition covers (h : list event) (t : time) (j : member) (L : view) (sl : slot) (n : nat) : Prop :=
    (forall t' d x o, act h t' j d x o -> view_of d j = L j -> slot_at d = sl -> t' < t -> x <= n) /\
    (forall t' L' c, admission h t' j L' c -> L' j = L j -> t' < t -> c sl <= n).

  (* A page covers what came before the record. *)
  Definition pages_cover (h : list event) : Prop :=
    forall j L p, In (Read j L p) h -> forall sl n, In (sl, n) p ->
      exists tr, tr < length h /\ visit h tr j L /\ covers h tr j L sl n.

  Definition installed_were_read (h : list event) : Prop :=
    forall m I j L p, In (Installed m I j L p) h -> L m = I /\ In (Read j L p) h.

  Definition imports_cover (h : list event) : Prop :=
    forall t m L c, admission h t m L c -> forall r,
      exists R N, quorum R /\ fair L N R (Some m) /\ forall j, In j R ->
        exists tr, tr < t /\ visit h tr j (N j) /\ covers h tr j (N j) (slot_of r) (c (slot_of r)).

  Definition is_start (e : event) : Prop := match e with Started _ | Counting _ | Breaking _ => True | _ => False end.

  Definition starts_come_first (h : list event) : Prop :=
    (forall t m d n o, act h t m d n o -> exists t', t' < t /\ happened h t' (start_of d)) /\
    (forall t t' e, is_start e -> happened h t e -> happened h t' e -> t = t').

  Definition frozen_were_answered (h : list event) : Prop :=
    forall a F t, In (Frozen a F t) h ->
      In (Started a) h /\ forall m x, In (m, x) F -> exists V o, In (Answered a m V x o) h.

  Definition grants_stand (h : list event) : Prop :=
    forall t a x, happened h t (Granted a x) ->
      exists Q V N, quorum Q /\ fair V N Q None /\ forall m, In m Q -> forall r, In r (what a) ->
        exists t' o, t' < t /\ act h t' m (Lock_of a r (N m)) (x r) o.

  Definition agreed_stand (h : list event) : Prop :=
    forall t c n, happened h t (Agreed c n) ->
      (forall n', In (Agreed c n') h -> n' = n) /\
      exists Q V N, quorum Q /\ fair V N Q None /\ forall m, In m Q ->
        exists t', t' < t /\ act h t' m (Values_of c (N m)) n taken.

  Definition broken_stand (h : list event) : Prop :=
    forall t b, happened h t (Broken b) ->
      exists Q V N, quorum Q /\ fair V N Q None /\ forall m, In m Q ->
        exists t' n o, t' < t /\ token b < n /\ act h t' m (Above b (N m)) n o.

  (* The number of a joined lock is a token that the same lock id was granted before. *)
  Definition granted_before (h : list event) (r : resource) (i : lockid) (n : nat) (t : time) : Prop :=
    exists t' a x, t' < t /\ happened h t' (Granted a x) /\ In r (what a) /\ x r = n /\ holder a = i.

  Definition joined_were_granted (h : list event) : Prop :=
    forall t m a r V n, act h t m (Lock_of a r V) n joined -> granted_before h r (holder a) n t.

  Definition no_import_is_answered (h : list event) : Prop :=
    forall t m d n o, act h t m d n o -> o <> imported.

  Record history_is_fine (h : list event) : Prop := {
    f_once : no_incarnation_twice h;
    f_given : all_were_given h;
    f_visits : visits_grow h;
    f_before : admitted_before h;
    f_numbers : numbers_grow h;
    f_above : numbers_above h;
    f_pages : pages_cover h;
    f_read : installed_were_read h;
    f_imports : imports_cover h;
    f_starts : starts_come_first h;
    f_frozen : frozen_were_answered h;
    f_grants : grants_stand h;
    f_agreed : agreed_stand h;
    f_broken : broken_stand h;
    f_joined : joined_were_granted h;
    f_answers : no_import_is_answered h }.

  (* ---- What is true of a machine that has not fallen -------------------------------------------------- *)

  (* One that is joining as I has done nothing as I, but has what was installed. *)
  Record joining_is_fine (h : list event) (m : member) (I : incarnation) (x : machine) : Prop := {
    j_visits : forall t V, visit h t m V -> V m <> I;
    j_admissions : forall t L c, admission h t m L c -> L m <> I;
    j_installed : forall j L p, In (Installed m I j L p) h ->
      forall sl n, In (sl, n) p -> n <= counter x sl;
    j_locks : forall r l, locks x r = Some l -> from l = imported }.

  (* Where a lock of r was not imported, its number fits all that the machine answered as this incarnation. An imported
     one stands only as long as the machine answered nothing for r. *)
  Definition own_lock_is_fine (h : list event) (m : member) (x : machine) (r : resource) (l : lock) : Prop :=
    number l <= counter x (slot_of r) /\
    (forall t d n o, act h t m d n o -> slot_at d = slot_of r -> view_of d m = knows x m ->
       (is_lock_of d r -> n <= number l) /\
       (lock_not_there h t m r (by_id l) -> n <= number l /\ (from l = taken -> n < number l))) /\
    (forall t L c, admission h t m L c -> L m = knows x m ->
       c (slot_of r) <= number l /\ (from l = taken -> c (slot_of r) < number l)) /\
    (from l = joined -> granted_before h r (by_id l) (number l) (length h)) /\
    known h (by_id l).

  Definition lock_is_fine (h : list event) (m : member) (x : machine) (r : resource) (l : lock) : Prop :=
    (from l = imported -> forall t a V n o, act h t m (Lock_of a r V) n o -> V m <> knows x m) /\
    (from l <> imported -> own_lock_is_fine h m x r l).

  Record active_is_fine (h : list event) (m : member) (x : machine) : Prop := {
    a_visits : forall t V, visit h t m V -> V m = knows x m -> below V (knows x);
    a_born : knows x m = 0 \/ exists t L c, admission h t m L c /\ L m = knows x m;
    a_admissions : forall t L c, admission h t m L c -> L m = knows x m ->
      below L (knows x) /\ forall sl, c sl <= counter x sl;
    a_numbers : forall t d n o, act h t m d n o -> view_of d m = knows x m ->
      n <= counter x (slot_at d);
    a_locks : forall r l, locks x r = Some l -> lock_is_fine h m x r l }.

  Definition machine_is_fine (h : list event) (m : member) (k : nat) (x : machine) : Prop :=
    lineage_of x <> changed ->
    match state_of x with
    | out => True
    | joining J => given h m k J /\ joining_is_fine h m J x
    | active => given h m k (knows x m) /\ active_is_fine h m x
    end.

  Definition fine (s : state) : Prop :=
    history_is_fine (history s) /\ forall m k, machine_is_fine (history s) m k (machines s m k).

  (* ---- What does not concern a machine leaves it fine -------------------------------------------------- *)

  Definition concerns (e : event) (m : member) (I : incarnation) : Prop :=
    (exists V, visit_of e = Some (m, V) /\ V m = I) \/
    (exists L c, e = Activated m L c /\ L m = I) \/
    (exists j L p, e = Installed m I j L p).

  Lemma joining_unconcerned : forall e h m I x,
    ~ concerns e m I -> joining_is_fine h m I x -> joining_is_fine (e :: h) m I x.
  Proof.
    intros e h m I x N [V A In_ Lk]. split.
    - intros t W Hv E. apply visit_now in Hv. destruct Hv as [Hv | [Hv _]].
      + now apply (V t W).
      + apply N. left. now exists W.
    - intros t L c Ha E. apply admission_now in Ha. destruct Ha as [Ha | [Ha _]].
      + now apply (A t L c).
      + apply N. right. left. now exists L, c.
    - intros j L p [E | Hin].
      + destruct N. right. right. now exists j, L, p.
      + now apply (In_ j L p).
    - assumption.
  Qed.

  Lemma granted_before_stays : forall e h r i n, granted_before h r i n (length h) ->
    granted_before (e :: h) r i n (length (e :: h)).
  Proof.
    intros e h r i n (t & a & x & Ht & Hg & E). exists t, a, x. simpl. repeat split; auto; apply E.
  Qed.

  Lemma active_unconcerned : forall e h m x,
    ~ concerns e m (knows x m) -> active_is_fine h m x -> active_is_fine (e :: h) m x.
  Proof.
    intros e h m x N [V B A Nu Lk].
    assert (forall t W, visit (e :: h) t m W -> W m = knows x m -> visit h t m W) as FV.
    { intros t W Hv E. apply visit_now in Hv. destruct Hv as [Hv | [Hv _]]; [assumption |].
      destruct N. left. now exists W. }
    assert (forall t d n o, act (e :: h) t m d n o -> view_of d m = knows x m -> act h t m d n o) as FA.
    { intros t d n o Hv E. apply act_now in Hv. destruct Hv as [Hv | [Hv _]]; [assumption |].
      destruct N. left. exists (view_of d). split; [eapply act_visits; eassumption | assumption]. }
    assert (forall t L c, admission (e :: h) t m L c -> L m = knows x m -> admission h t m L c) as FD.
    { intros t L c Hv E. apply admission_now in Hv. destruct Hv as [Hv | [Hv _]]; [assumption |].
      destruct N. right. left. now exists L, c. }
    split.
    - eauto.
    - destruct B as [B | (t & L & c & B & E)]; [now left | right].
      exists t, L, c. split; [now right | assumption].
    - eauto.
    - eauto.
    - intros r l Hl. specialize (Lk r l Hl). destruct Lk as [LI LO]. split.
      + intros Hf t a W n o Hv E. apply (LI Hf t a W n o); [| assumption]. eapply FA; [exact Hv | exact E].
      + intros Hf. destruct (LO Hf) as (L1 & L2 & L3 & L4 & L5).
        split; [assumption | split; [| split; [eauto | split; [eauto using granted_before_stays | now apply known_stays]]]].
        intros t d n o Hv Hs E. pose proof (FA _ _ _ _ Hv E) as Hv'. destruct (L2 t d n o Hv' Hs E) as [X Y].
        split; [assumption |]. intro NT. apply Y. eapply lock_not_there_before; [eapply act_past; eassumption | eassumption].
  Qed.

  Lemma machine_unconcerned : forall e h m k x,
    (forall I, given h m k I -> ~ concerns e m I) ->
    machine_is_fine h m k x -> machine_is_fine (e :: h) m k x.
  Proof.
    intros e h m k x N F Hl. specialize (F Hl). destruct (state_of x) as [| J |]; [assumption | |].
    - destruct F as [G F]. split; [now apply given_stays | apply joining_unconcerned; auto].
    - destruct F as [G F]. split; [now apply given_stays | apply active_unconcerned; auto].
  Qed.

  Lemma given_once : forall h m k k' I, history_is_fine h -> given h m k I -> given h m k' I -> k = k'.
  Proof.
    intros h m k k' I F [[E1 ->] | H1] [[E2 ->] | H2].
    - reflexivity.
    - destruct (f_once h F m k' k' I H2 H2). contradiction.
    - destruct (f_once h F m k k I H1 H1). contradiction.
    - apply (f_once h F m k k' I H1 H2).
  Qed.

  (* So it is enough to look at the one machine that moves. *)
  Lemma fine_by_move : forall M h m k x e,
    fine (State M h) -> history_is_fine (e :: h) ->
    (forall m' I, concerns e m' I -> m' = m /\ given h m k I) ->
    machine_is_fine (e :: h) m k x ->
    fine (State (put M m k x) (e :: h)).
  Proof.
    intros M h m k x e [FH FM] FE C FX. split; [assumption |]. intros m' k'. simpl in *. unfold put.
    destruct (Nat.eq_dec m' m) as [-> | D].
    - rewrite set_same. destruct (Nat.eq_dec k' k) as [-> | D].
      + now rewrite set_same.
      + rewrite set_other by assumption. apply machine_unconcerned; [| apply FM].
        intros I G Hc. destruct (C m I Hc) as [_ G']. apply D. exact (given_once h m k' k I FH G G').
    - rewrite set_other by assumption. apply machine_unconcerned; [| apply FM].
      intros I G Hc. destruct (C m' I Hc) as [E _]. contradiction.
  Qed.

  Lemma fine_by_quiet_move : forall M h m k x,
    fine (State M h) -> machine_is_fine h m k x -> fine (State (put M m k x) h).
  Proof.
    intros M h m k x [FH FM] FX. split; [assumption |]. intros m' k'. simpl in *. unfold put.
    destruct (Nat.eq_dec m' m) as [-> | D].
    - rewrite set_same. destruct (Nat.eq_dec k' k) as [-> | D].
      + now rewrite set_same.
      + now rewrite set_other.
    - now rewrite set_other.
  Qed.

  Lemma fine_by_word : forall M h e,
    fine (State M h) -> history_is_fine (e :: h) -> (forall m I, ~ concerns e m I) ->
    fine (State M (e :: h)).
  Proof.
    intros M h e [FH FM] FE C. split; [assumption |]. intros m k. simpl in *.
    apply machine_unconcerned; [intros; apply C | apply FM].
  Qed.

  (* ---- An event keeps the history fine if it fits ------------------------------------------------------ *)

  Record fits (e : event) (h : list event) : Prop := {
    e_marked : forall m k I, e = Marked m k I -> I <> 0 /\ forall k', In (Marked m k' I) h -> k' = k;
    e_visit : forall m V, visit_of e = Some (m, V) ->
      (exists k, given h m k (V m)) /\
      (forall t W, visit h t m W -> W m = V m -> below W V) /\
      (V m = 0 \/ exists t L c, admission h t m L c /\ L m = V m /\ below L V);
    e_act : forall m d n o, acts e m d n o ->
      o <> imported /\ In (start_of d) h /\
      (forall t d' n' o', act h t m d' n' o' -> slot_at d' = slot_at d -> view_of d' m = view_of d m ->
         grows h t m d' d n' n o) /\
      (forall t L c, admission h t m L c -> L m = view_of d m ->
         c (slot_at d) <= n /\ (o = taken -> c (slot_at d) + size_of d <= n)) /\
      (o = joined -> forall a r V, d = Lock_of a r V -> granted_before h r (holder a) n (length h));
    e_admitted : forall m L c, e = Activated m L c ->
      (exists k, given h m k (L m)) /\
      (forall t V, visit h t m V -> V m <> L m) /\
      (forall r, exists R N, quorum R /\ fair L N R (Some m) /\ forall j, In j R ->
         exists tr, visit h tr j (N j) /\ covers h tr j (N j) (slot_of r) (c (slot_of r)));
    e_read : forall j L p, e = Read j L p -> forall sl n, In (sl, n) p ->
      exists tr, visit h tr j L /\ covers h tr j L sl n;
    e_installed : forall m I j L p, e = Installed m I j L p ->
      (exists k, given h m k I) /\ L m = I /\ In (Read j L p) h;
    e_started : is_start e -> ~ In e h;
    e_frozen : forall a F t, e = Frozen a F t ->
      In (Started a) h /\ forall m x, In (m, x) F -> exists V o, In (Answered a m V x o) h;
    e_granted : forall a x, e = Granted a x ->
      exists Q V N, quorum Q /\ fair V N Q None /\ forall m, In m Q -> forall r, In r (what a) ->
        exists t o, act h t m (Lock_of a r (N m)) (x r) o;
    e_agreed : forall c n, e = Agreed c n ->
      (forall n', ~ In (Agreed c n') h) /\
      exists Q V N, quorum Q /\ fair V N Q None /\ forall m, In m Q -> exists t, act h t m (Values_of c (N m)) n taken;
    e_broken : forall b, e = Broken b ->
      exists Q V N, quorum Q /\ fair V N Q None /\ forall m, In m Q ->
        exists t n o, token b < n /\ act h t m (Above b (N m)) n o }.

  Lemma covers_stays : forall e h tr j L sl n, tr < length h ->
    covers h tr j L sl n -> covers (e :: h) tr j L sl n.
  Proof.
    intros e h tr j L sl n Ht [C1 C2]. split.
    - intros t d x o A E1 E2 Hlt. apply act_now in A. destruct A as [A | [_ ->]]; [eauto | lia].
    - intros t L' c A E Hlt. apply admission_now in A. destruct A as [A | [_ ->]]; [eauto | lia].
  Qed.

  Lemma granted_before_grows : forall e h r i n t, granted_before h r i n t -> granted_before (e :: h) r i n t.
  Proof.
    intros e h r i n t (t' & a & x & H1 & H2 & H3). exists t', a, x.
    split; [assumption |]. split; [now right | assumption].
  Qed.

  Lemma grows_stays : forall e h t m d' d n' n o, t < length h ->
    grows h t m d' d n' n o -> grows (e :: h) t m d' d n' n o.
  Proof.
    intros e h t m d' d n' n o Ht [G1 G2]. split; [assumption |]. intro N. apply G2. eapply not_there_before; eassumption.
  Qed.

  (* Two answers of one event: the second demand was there. *)
  Lemma grows_at_once : forall e h m d1 d2 n1 n2 o1 o2,
    acts e m d1 n1 o1 -> acts e m d2 n2 o2 -> In (start_of d2) h -> grows (e :: h) (length h) m d1 d2 n1 n2 o2.
  Proof.
    intros e h m d1 d2 n1 n2 o1 o2 A1 A2 Hs. split.
    - intros (r & (a1 & W1 & ->) & (a2 & W2 & ->)). inversion A1; subst; inversion A2; subst; lia.
    - intro N. destruct d2 as [a r V | c V | b V]; simpl in *.
      + exfalso. revert N. apply there_now; [now exists a |].
        intros a' W n o A. inversion A2; subst; inversion A; now subst.
      + destruct (N V n2). left. inversion A2; subst. split; reflexivity.
      + inversion A2; subst. inversion A1; subst. split; [lia | discriminate].
  Qed.

  Lemma fine_by_event : forall e h, history_is_fine h -> fits e h -> history_is_fine (e :: h).
  Proof.
    intros e h F E. destruct E as [EM EV EA ED ER EI ES EF EG EC EB]. split.
    - (* no_incarnation_twice *)
      intros m k k' I [H | H] [H' | H'].
      + rewrite H in H'. injection H' as ->. destruct (EM m k' I H). auto.
      + destruct (EM m k I H) as [Y X]. split; [assumption | symmetry; auto].
      + destruct (EM m k' I H') as [Y X]. auto.
      + now apply (f_once h F m).
    - (* all_were_given *)
      destruct (f_given h F) as (G1 & G2 & G3). split; [| split].
      + intros t m V H. apply visit_now in H. destruct H as [H | [H _]].
        * destruct (G1 t m V H) as (k & G). exists k. now apply given_stays.
        * destruct (EV m V H) as ((k & G) & _). exists k. now apply given_stays.
      + intros t m L c H. apply admission_now in H. destruct H as [H | [H _]].
        * destruct (G2 t m L c H) as (k & G). exists k. now apply given_stays.
        * destruct (ED m L c H) as ((k & G) & _). exists k. now apply given_stays.
      + intros m I j L p [H | H].
        * destruct (EI m I j L p H) as ((k & G) & _). exists k. now apply given_stays.
        * destruct (G3 m I j L p H) as (k & G). exists k. now apply given_stays.
    - (* visits_grow *)
      intros t1 t2 m V1 V2 H1 H2 Eq Ht. apply visit_now in H1. apply visit_now in H2.
      destruct H1 as [H1 | [H1 E1]], H2 as [H2 | [H2 E2]].
      + now apply (f_visits h F t1 t2 m).
      + destruct (EV m V2 H2) as (_ & X & _). eapply X; eassumption.
      + apply visit_past in H2. lia.
      + rewrite H1 in H2. injection H2 as ->. apply below_refl.
    - (* admitted_before *)
      intros t m V H. apply visit_now in H. destruct H as [H | [H ->]].
      + destruct (f_before h F t m V H) as [X | (t' & L & c & X1 & X2 & X3)]; [now left | right].
        exists t', L, c. split; [assumption | split; [now right | assumption]].
      + destruct (EV m V H) as (_ & _ & [X | (t' & L & c & X2 & X3)]); [now left | right].
        exists t', L, c. split; [eapply admission_past; eassumption | split; [now right | assumption]].
    - (* numbers_grow *)
      intros t1 t2 m d1 d2 n1 n2 o1 o2 H1 H2 Hw Hu Ht. apply act_now in H1. apply act_now in H2.
      destruct H1 as [H1 | [H1 E1]], H2 as [H2 | [H2 E2]].
      + apply grows_stays; [eapply act_past; eassumption |]. eapply (f_numbers h F); eassumption.
      + apply grows_stays; [eapply act_past; eassumption |].
        destruct (EA m d2 n2 o2 H2) as (_ & _ & X & _). eapply X; eassumption.
      + apply act_past in H2. lia.
      + subst t1. eapply grows_at_once; try eassumption. now destruct (EA m d2 n2 o2 H2) as (_ & X & _).
    - (* numbers_above *)
      intros t t' m L c d n o H H' Eq. apply act_now in H. apply admission_now in H'.
      destruct H as [H | [H E1]], H' as [H' | [H' E2]].
      + eapply (f_above h F); eassumption.
      + destruct (ED m L c H') as (_ & X & _). apply act_is_a_visit in H.
        destruct (X t (view_of d) H). now symmetry.
      + destruct (EA m d n o H) as (_ & _ & _ & X & _). eapply X; eassumption.
      + subst e. inversion H.
    - (* pages_cover *)
      intros j L p [H | H] sl n Hp.
      + destruct (ER j L p H sl n Hp) as (tr & Hv & Hc). pose proof (visit_past _ _ _ _ Hv) as Hlt.
        exists tr. split; [simpl; lia |]. split; [now apply visit_stays | now apply covers_stays].
      + destruct (f_pages h F j L p H sl n Hp) as (tr & Hlt & Hv & Hc).
        exists tr. split; [simpl; lia |]. split; [now apply visit_stays | now apply covers_stays].
    - (* installed_were_read *)
      intros m I j L p [H | H].
      + destruct (EI m I j L p H) as (_ & X & Y). split; [assumption | now right].
      + destruct (f_read h F m I j L p H) as [X Y]. split; [assumption | now right].
    - (* imports_cover *)
      intros t m L c H r. apply admission_now in H. destruct H as [H | [H ->]].
      + destruct (f_imports h F t m L c H r) as (R & N & HR & HF & X). exists R, N. split; [assumption | split; [assumption |]].
        intros j Hj. destruct (X j Hj) as (tr & Ht & Hv & Hc).
        exists tr. split; [assumption |]. split; [now apply visit_stays |].
        apply covers_stays; [eapply visit_past; eassumption | assumption].
      + destruct (ED m L c H) as (_ & _ & X). destruct (X r) as (R & N & HR & HF & Y). exists R, N.
        split; [assumption | split; [assumption |]]. intros j Hj. destruct (Y j Hj) as (tr & Hv & Hc). pose proof (visit_past _ _ _ _ Hv) as Hlt.
        exists tr. split; [assumption |]. split; [now apply visit_stays | now apply covers_stays].
    - (* starts_come_first *)
      destruct (f_starts h F) as [First Once]. split.
      + intros t m d n o A. apply act_now in A. destruct A as [A | [A ->]].
        * destruct (First _ _ _ _ _ A) as (t' & L & S). exists t'. split; [assumption | now right].
        * destruct (EA m d n o A) as (_ & S & _). destruct (in_happened _ _ _ S) as (t' & L & S').
          exists t'. split; [assumption | now right].
      + intros t t' x Sx S S'. destruct S as [[X ->] | S], S' as [[X' ->] | S'].
        * reflexivity.
        * subst x. destruct (ES Sx). eapply happened_in; eassumption.
        * subst x. destruct (ES Sx). eapply happened_in; eassumption.
        * eapply Once; eassumption.
    - (* frozen_were_answered *)
      intros a Fr t [H | H].
      + destruct (EF a Fr t H) as [X Y]. split; [now right |].
        intros m x Hx. destruct (Y m x Hx) as (V & o & Ho). exists V, o. now right.
      + destruct (f_frozen h F a Fr t H) as [X Y]. split; [now right |].
        intros m x Hx. destruct (Y m x Hx) as (V & o & Ho). exists V, o. now right.
    - (* grants_stand *)
      intros t a x [[H ->] | H].
      + destruct (EG a x H) as (Q & V & N & HQ & HF & X). exists Q, V, N. split; [assumption | split; [assumption |]].
        intros m Hm r Hr. destruct (X m Hm r Hr) as (t' & o & A). exists t', o.
        split; [eapply act_past; eassumption | now apply act_stays].
      + destruct (f_grants h F t a x H) as (Q & V & N & HQ & HF & X). exists Q, V, N.
        split; [assumption | split; [assumption |]]. intros m Hm r Hr. destruct (X m Hm r Hr) as (t' & o & L & A). exists t', o.
        split; [assumption | now apply act_stays].
    - (* agreed_stand *)
      intros t c n [[H ->] | H].
      + destruct (EC c n H) as (Once & Q & V & N & HQ & HF & X). split.
        * intros n' [H' | H']; [rewrite H in H'; now injection H' | destruct (Once n' H')].
        * exists Q, V, N. split; [assumption | split; [assumption |]]. intros m Hm. destruct (X m Hm) as (t' & A). exists t'.
          split; [eapply act_past; eassumption | now apply act_stays].
      + destruct (f_agreed h F t c n H) as (Once & Q & V & N & HQ & HF & X). split.
        * intros n' [H' | H']; [| now apply Once]. destruct (EC c n' H') as [Y _]. destruct (Y n).
          eapply happened_in; eassumption.
        * exists Q, V, N. split; [assumption | split; [assumption |]]. intros m Hm. destruct (X m Hm) as (t' & L & A). exists t'.
          split; [assumption | now apply act_stays].
    - (* broken_stand *)
      intros t b [[H ->] | H].
      + destruct (EB b H) as (Q & V & N & HQ & HF & X). exists Q, V, N. split; [assumption | split; [assumption |]]. intros m Hm.
        destruct (X m Hm) as (t' & n & o & T & A). exists t', n, o.
        split; [eapply act_past; eassumption | split; [assumption | now apply act_stays]].
      + destruct (f_broken h F t b H) as (Q & V & N & HQ & HF & X). exists Q, V, N.
        split; [assumption | split; [assumption |]]. intros m Hm.
        destruct (X m Hm) as (t' & n & o & L & T & A). exists t', n, o.
        split; [assumption | split; [assumption | now apply act_stays]].
    - (* joined_were_granted *)
      intros t m a r V n A. apply act_now in A. destruct A as [A | [A ->]].
      + apply granted_before_grows. now apply (f_joined h F t m a r V).
      + destruct (EA m _ n joined A) as (_ & _ & _ & _ & X). apply granted_before_grows. now apply (X eq_refl a r V).
    - (* no_import_is_answered *)
      intros t m d n o A. apply act_now in A. destruct A as [A | [A _]].
      + eapply (f_answers h F); eassumption.
      + destruct (EA m d n o A) as (X & _). assumption.
  Qed.
End Kept.
